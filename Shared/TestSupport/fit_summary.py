"""Prints as JSON what fitdecode reads in each FIT file given: the values the tests hold our own reader against."""

import json
import sys

import fitdecode


def plain(value):
    """The first of an array, Unix seconds of a time."""
    if isinstance(value, (tuple, list)):
        value = next((element for element in value if element is not None), None)
    return value.timestamp() if hasattr(value, "timestamp") else value


def fields(frame, names):
    values = {}
    for name in names:
        # A name may stand twice: a developer's field of the same name comes after the ordinary one.
        found = [f for f in frame.fields if f.name == name and not isinstance(f.field, fitdecode.types.DevField)]
        value = plain(found[0].value) if found else None
        if value is not None:
            values[name] = value
    return values


SESSION = [
    "start_time", "total_elapsed_time", "total_timer_time", "total_distance", "total_calories", "avg_heart_rate",
    "max_heart_rate", "enhanced_avg_speed", "enhanced_max_speed", "avg_power", "max_power", "total_ascent",
    "total_descent",
]
LAP = ["start_time", "total_elapsed_time", "total_timer_time", "total_distance", "avg_heart_rate"]
RECORD = [
    "timestamp", "position_lat", "position_long", "enhanced_altitude", "heart_rate", "cadence", "fractional_cadence",
    "distance", "enhanced_speed", "power", "temperature",
]


def summary(path):
    result = {"messages": 0, "sessions": [], "laps": [], "records": [], "timer": []}
    with fitdecode.FitReader(path, check_crc=fitdecode.CrcCheck.RAISE) as reader:
        for frame in reader:
            if not isinstance(frame, fitdecode.FitDataMessage):
                continue
            result["messages"] += 1
            if frame.name == "session":
                result["sessions"].append(fields(frame, SESSION))
            elif frame.name == "lap":
                result["laps"].append(fields(frame, LAP))
            elif frame.name == "record":
                result["records"].append(fields(frame, RECORD))
            elif frame.name == "event" and frame.get_value("event", fallback=None) == "timer":
                result["timer"].append([plain(frame.get_value("timestamp")), frame.get_value("event_type")])
    return result


print(json.dumps([summary(path) for path in sys.argv[1:]]))
