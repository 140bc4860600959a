"""Prints what ElementTree reads in a GPX or TCX file as JSON. Tests compare it with the result of Pacebus's reader."""

import datetime
import json
import sys
import xml.etree.ElementTree


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def seconds(text):
    return datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00")).timestamp()


def point(element, distance):
    values = {local(e): e.text for e in element.iter() if e.text and e.text.strip()}
    rate = values.get("hr") or values.get("Value")
    covered = values.get(distance)
    latitude = element.get("lat") or values.get("LatitudeDegrees")
    longitude = element.get("lon") or values.get("LongitudeDegrees")
    height = values.get("ele") or values.get("AltitudeMeters")
    return {
        "time": seconds(values.get("time") or values["Time"]),
        "distance": float(covered) if covered else None,
        "heartRate": float(rate) if rate else None,
        "latitude": float(latitude) if latitude else None,
        "longitude": float(longitude) if longitude else None,
        "altitude": float(height) if height else None,
    }


def summary(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    if local(root) == "gpx":
        parts, name, distance = "trkseg", "trkpt", "distance"
    else:
        parts, name, distance = "Track", "Trackpoint", "DistanceMeters"
    return [[point(e, distance) for e in part if local(e) == name] for part in root.iter() if local(part) == parts]


print(json.dumps(summary(sys.argv[1])))
