"""A scripted weather provider on a free loopback port.

Usage: weather_server.py FOLDER

The server writes its port to FOLDER/port, answers as FOLDER/script.json says, and appends a line per request to
FOLDER/requests.

script.json is {"id": ..., "steps": [step, ...]}. Each request takes one step; the last step repeats. A new id starts again. A
step may have "kind" (answer, hang, drip, half, nonsense, huge, close), "status", "headers", "values" (differences from the
default weather), "delay" in seconds, and "modified", a Last-Modified that conditional requests match.

Bodies and rules follow the documentation of Open-Meteo, WeatherKit and MET Norway.
"""

import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

FOLDER = sys.argv[1]
LOCK = threading.Lock()
STATE = {"id": None, "next": 0}


def next_step():
    with LOCK:
        with open(os.path.join(FOLDER, "script.json")) as file:
            script = json.load(file)
        if STATE["id"] != script["id"]:
            STATE.update(id=script["id"], next=0)
        step = script["steps"][min(STATE["next"], len(script["steps"]) - 1)]
        STATE["next"] += 1
        return step


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def open_meteo(query, values):
    """https://open-meteo.com/en/docs"""
    known = {
        "temperature_2m": values.get("temperature", 11.5),
        "relative_humidity_2m": values.get("humidity", 60),
        "apparent_temperature": values.get("apparent", 9.25),
        "weather_code": values.get("code", 3),
        "wind_speed_10m": values.get("wind", 18),
    }
    current = {"interval": values.get("interval", 900)}
    seconds = values.get("time", 1735689600)
    unix = query.get("timeformat") == ["unixtime"]
    current["time"] = seconds if unix else iso(seconds)[:16]
    for field in query["current"][0].split(","):
        current[field] = known[field]
    return {
        "latitude": float(query["latitude"][0]),
        "longitude": float(query["longitude"][0]),
        "generationtime_ms": 0.05,
        "utc_offset_seconds": 0,
        "timezone": "GMT",
        "timezone_abbreviation": "GMT",
        "elevation": 38.0,
        "current_units": {"time": "unixtime", "interval": "seconds", "temperature_2m": "°C", "wind_speed_10m": "km/h"},
        "current": current,
    }


def weatherkit(values):
    """https://developer.apple.com/documentation/weatherkitrestapi/currentweather"""
    seconds = values.get("time", 1735689600)
    return {
        "currentWeather": {
            "name": "CurrentWeather",
            "metadata": {
                "attributionURL": "https://developer.apple.com/weatherkit/data-source-attribution/",
                "expireTime": iso(values.get("expires", seconds + 300)),
                "latitude": 52.52,
                "longitude": 13.41,
                "readTime": iso(seconds),
                "reportedTime": iso(seconds),
                "units": "m",
                "version": 1,
            },
            "asOf": iso(seconds),
            "cloudCover": 0.5,
            "conditionCode": values.get("code", "MostlyCloudy"),
            "daylight": True,
            "humidity": values.get("humidity", 0.6),
            "precipitationIntensity": 0.0,
            "pressure": 1013.2,
            "pressureTrend": "steady",
            "temperature": values.get("temperature", 11.5),
            "temperatureApparent": values.get("apparent", 9.25),
            "temperatureDewPoint": 4.0,
            "uvIndex": 2,
            "visibility": 20000.0,
            "windDirection": 250,
            "windGust": 30.0,
            "windSpeed": values.get("wind", 18),
        }
    }


def met_norway(query, values):
    """https://api.met.no/weatherapi/locationforecast/2.0/documentation"""
    seconds = values.get("time", 1735689600)
    temperature = values.get("temperature", 11.5)
    steps = []
    for hour in range(48):
        instant = {
            "air_pressure_at_sea_level": 1013.2,
            "air_temperature": None if temperature is None else temperature + hour,
            "cloud_area_fraction": 60.0,
            "relative_humidity": values.get("humidity", 60),
            "wind_from_direction": 250.0,
            "wind_speed": values.get("wind", 5.0),
        }
        steps.append(
            {
                "time": iso(seconds + 3600 * hour),
                "data": {
                    "instant": {"details": instant},
                    "next_1_hours": {
                        "summary": {"symbol_code": values.get("code", "cloudy") if hour == 0 else "fog"},
                        "details": {"precipitation_amount": 0.0},
                    },
                },
            }
        )
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [float(query["lon"][0]), float(query["lat"][0]), 38]},
        "properties": {
            "meta": {"updated_at": iso(seconds), "units": {"air_temperature": "celsius", "wind_speed": "m/s"}},
            "timeseries": steps,
        },
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        line = {"path": url.path, "query": url.query, "headers": {k.lower(): v for k, v in self.headers.items()}}
        with LOCK, open(os.path.join(FOLDER, "requests"), "a") as file:
            file.write(json.dumps(line) + "\n")
        step = next_step()
        time.sleep(step.get("delay", 0))
        kind = step.get("kind", "answer")
        if kind == "hang":
            time.sleep(30)
            kind = "close"
        if kind == "close":
            self.close_connection = True
            return
        status, headers, document = self.answer(url.path, query, step)
        body = json.dumps(document).encode() if document is not None else b""
        if kind == "nonsense":
            body = b"<html>" + body[:40]
        if kind == "huge":
            body = body[:-1] + b" " * (8 << 20) + body[-1:]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if kind == "half":
            body = body[: len(body) // 2]
            self.close_connection = True
        try:
            if kind == "drip":
                for number in range(len(body)):
                    self.wfile.write(body[number : number + 1])
                    time.sleep(0.1)
            else:
                self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def answer(self, path, query, step):
        status = step.get("status", 200)
        headers = dict(step.get("headers", {}))
        values = step.get("values", {})
        if status != 200:
            return status, headers, {"error": True, "reason": "as the script says"}
        if "modified" in step:
            headers["Last-Modified"] = step["modified"]
            if self.headers.get("If-Modified-Since") == step["modified"]:
                return 304, headers, None
        if path == "/v1/forecast":
            return status, headers, open_meteo(query, values)
        if path.startswith("/api/v1/weather/en/"):
            if not self.headers.get("Authorization", "").startswith("Bearer "):
                return 401, {}, {"reason": "NOT_ENABLED"}
            return status, headers, weatherkit(values)
        if path == "/weatherapi/locationforecast/2.0/compact":
            decimals = [len(query[key][0].partition(".")[2]) for key in ("lat", "lon")]
            if max(decimals) > 4 or "(" not in self.headers.get("User-Agent", ""):
                return 403, {}, None
            return status, headers, met_norway(query, values)
        return 404, {}, {"error": True, "reason": "Not Found"}

    def log_message(self, format, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(os.path.join(FOLDER, "port.new"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(os.path.join(FOLDER, "port.new"), os.path.join(FOLDER, "port"))
server.serve_forever()
