#!/usr/bin/env python3
"""Writes seed inputs into a folder: the number of the target, then a valid payload."""

import json
import pathlib
import struct
import sys

ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
TARGETS = (
    "batch commands state report record snapshot ack current reply announcement topic fit url names request profile "
    "heard locations route routeReport weather"
).split()


def command(kind, at=None, **fields):
    return {"id": ID, "client": "watch-3f9a", "type": kind, "at": at, **fields}


def lines(*commands):
    return "\n".join(json.dumps({key: value for key, value in one.items() if value is not None}) for one in commands)


START = command(
    "start",
    1.7e9,
    activity="running",
    environment="outdoor",
    name='Morning "run" \u00e9',
    mode="watch",
    countdown=3,
    startAt=1700000003.5,
    units="imperial",
    timeZone="Europe/Berlin",
    place={"la": 52.5, "lo": 13.4},
    permissions={"heartRate": True, "workouts": False},
)
END = command("end", 1.7e9 + 900, streams={"samples/watch-3f9a": 1440, "locations/watch-3f9a": 1438})
STATE = {
    "session": ID,
    "user": "demo",
    "revision": 1700000000000,
    "status": "saving",
    "activity": "cycling",
    "environment": "indoor",
    "name": "Ride",
    "symbol": "figure.indoor.cycle",
    "healthKitActivityType": 13,
    "mode": "phone",
    "startedAt": 1.7e9,
    "endedAt": 1700000900.25,
    "endReason": "ended",
    "segments": [[1.7e9, 1.7e9 + 300], [1.7e9 + 360, None]],
    "laps": [1.7e9 + 100],
    "units": "metric",
    "timeZone": "GMT",
    "streams": {"samples/strap": 7},
    "profile": None,
    "banner": "liveMetricsUnavailable",
    "permissions": {"heartRate": True, "workouts": True},
    "place": {"la": 1, "lo": 2},
}
PROFILE = {
    "units": "metric",
    "birthYear": 1980,
    "sex": "female",
    "weight": 62.5,
    "restingHeartRate": 50,
    "maximumHeartRate": 185,
    "thresholdHeartRate": 168,
    "thresholdPower": 240.5,
    "zones": [110, 130, 150, 170],
    "timeZone": "Europe/Berlin",
}
TOTALS = {
    "distance": 1200.5,
    "activeEnergy": 80,
    "energySource": "device",
    "averageHeartRate": 140.25,
    "steps": 900,
    "splits": [{"distance": 1000, "duration": 300.5, "averageHeartRate": 139}],
    "laps": [{"startedAt": 1.7e9, "endedAt": 1.7e9 + 100, "duration": 100, "distance": 300}],
    "bests": {
        "distance": [{"m": 400, "s": 120.5, "t": 30}],
        "power": [{"s": 5, "w": 310.25, "t": 12}],
        "heartRate": [{"s": 1200, "bpm": 171.2, "t": 640}],
        "sets": [{"exercise": "Back Squat", "weight": 100, "repetitions": 5}],
    },
    "load": {"heartRate": 84.1, "normalizedPower": 231, "intensity": 0.82, "stress": 71.3},
    "sources": [{"quantity": "heart_rate", "device": "strap-1f", "from": 0, "to": 893.5}],
    "sketch": "_p~iF~ps|U_ulLnnqC",
}
NEXT = {"samples/watch-3f9a": 1440}
REPORT = {"revision": 5, "state": 4, "next": NEXT, "chunks": 3, **TOTALS}
RECORD = {
    "session": ID,
    "user": "demo",
    "revision": 9,
    "incomplete": True,
    "activity": "running",
    "environment": "outdoor",
    "name": "Outdoor Running",
    "mode": "watch",
    "startedAt": 1.7e9,
    "endedAt": 1.7e9 + 900,
    "segments": [[1.7e9, 1.7e9 + 900]],
    "activeDuration": 900,
    "elapsedDuration": 900,
    "next": NEXT,
    "summaries": {"metrics": 5},
    **TOTALS,
}
SNAPSHOT = {
    "u": "demo",
    "s": 12,
    "c": 1700000001.5,
    "t": 1.5,
    "d": 3.25,
    "p": 300,
    "h": 120,
    "k": 1,
    "ks": "device",
    "v": 3.3,
    "pa": False,
    "lp": 1,
    "n": 2,
    "dp": 300,
    "dv": 3.3,
    "ha": 119.5,
    "hx": 121,
    "cd": 80,
    "w": 200,
    "b": 0.5,
}
ITEM = {"c": 1700000001.5, "h": 120, "d": 3.25, "k": 0.1, "v": 3.3, "n": 3, "cd": 160, "w": 250, "b": 0.75, "tp": 21.5}


def fit():
    """An activity of a session, two timer events and some records; the target adds the frame."""

    def definition(local, number, fields):
        return bytes([0x40 | local, 0, 0]) + struct.pack("<HB", number, len(fields)) + bytes(sum(fields, ()))

    start = 1_700_000_000 - 631_065_600
    body = definition(0, 20, [(253, 4, 0x86), (3, 1, 2), (5, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85)])
    for second in range(6):
        body += struct.pack("<BIBIii", 0, start + second, 120, 300 * second, 10**8, 10**8)
    body += bytes([0x80 | 3]) + struct.pack("<IBIii", start + 9, 120, 300, 10**8, 10**8)
    body += definition(1, 21, [(253, 4, 0x86), (0, 1, 0), (1, 1, 0)])
    body += struct.pack("<BIBB", 1, start, 0, 0) + struct.pack("<BIBB", 1, start + 5, 0, 4)
    body += definition(2, 18, [(2, 4, 0x86), (7, 4, 0x86), (5, 1, 0), (29, 8, 7), (30, 8, 0x89), (31, 6, 0x84)])
    body += struct.pack("<BIIB8sdHHH", 2, start, 6_000, 1, b"Run\0\0\0\0\0", 1.5, 1, 2, 3)
    return body


SEEDS = [
    ("batch", json.dumps({"s": 0, "x": [ITEM, {"c": 1.7e9 + 2}, {"c": 1.7e9 + 30, "d": 10}, {}]})),
    ("batch", json.dumps({"x": [{"c": 1.7e9 + i, "d": 3, "h": 80} for i in range(8)], "s": 7, "q": [[{"a": None}]]})),
    ("batch", '{"s":0,"x":[{"c":1.7e9,"h":-0.0e-400,"d":1e999,"k":123456789012345678901234567890e-27}]}'),
    ("commands", lines(START, command("pause", 1.7e9 + 300), command("resume"), command("lap"), END)),
    ("commands", lines(START, command("discard"), command("recover"), END, END)),
    ("commands", lines(START, command("suspend"), command("deviceReady", device="watch-3f9a"), command("resume"), END)),
    ("state", json.dumps(STATE)),
    ("state", json.dumps({**STATE, "profile": PROFILE})),
    ("report", json.dumps(REPORT)),
    ("record", json.dumps(RECORD)),
    ("snapshot", json.dumps(SNAPSHOT)),
    ("ack", '{"n":1440}'),
    ("ack", '{"error":"stream_reused"}'),
    ("current", '{"revision":3,"session":null}'),
    ("current", json.dumps({key: STATE[key] for key in STATE if key not in ("segments", "laps")})),
    ("reply", json.dumps({"id": ID, "ok": True, "revision": 7, "now": 1.7e9})),
    ("reply", json.dumps({"id": ID, "ok": False, "now": 1.7e9, "error": {"code": "a", "message": "b"}})),
    ("announcement", json.dumps({"type": "split", "at": 1.7e9, "number": 2, "text": "Kilometre 2"})),
    ("request", json.dumps({"id": ID, "client": "a", "type": "setProfile", "profile": PROFILE})),
    (
        "request",
        json.dumps({"id": ID, "client": "a", "type": "workouts", "limit": 20, "before": {"at": 1.7e9, "session": ID}}),
    ),
    ("request", json.dumps({"id": ID, "client": "a", "type": "deleteWorkout", "session": ID})),
    ("profile", json.dumps({"revision": 7, **PROFILE})),
    (
        "heard",
        json.dumps(
            {
                "c": 1.7e9,
                "gaps": [[None, 1.69e9], [1.69e9, 1.7e9], [1.7e9, None]],
                "la": 47.1,
                "liveMetrics": True,
                "lo": 8.2,
                "n": 7,
                "s": 5,
                "sk": {"strap-1": 181.2},
            }
        ),
    ),
    (
        "locations",
        json.dumps(
            {
                "s": 0,
                "x": [
                    {
                        "c": 1.7e9 + i,
                        "la": 47 + i * 3e-5,
                        "lo": 179.9999 + i * 1e-6,
                        "al": 400 + i,
                        "ac": 5,
                        "va": 4,
                        "v": 3,
                        "co": 10,
                    }
                    for i in range(12)
                ],
            }
        ),
    ),
    (
        "locations",
        '{"s":3,"x":[{"c":1.7e9,"la":90,"lo":-180},{"c":1700000001,"la":-90,"lo":180,"ac":-1e300},{"c":1.7e9}]}',
    ),
    (
        "route",
        json.dumps(
            {
                "u": "demo",
                "s": 12,
                "c": 1700000001.5,
                "d": 2500.5,
                "la": 47.1,
                "lo": 8.2,
                "al": 400,
                "v": 3,
                "el": 12,
                "dl": 3,
                "pl": ["_p~iF~ps|U_ulLnnqC"],
                "n": 2,
            }
        ),
    ),
    ("route", '{"u":"demo","s":1,"c":1e300,"d":1e300,"v":-1e300,"n":0,"pl":[]}'),
    (
        "routeReport",
        json.dumps(
            {
                "revision": 5,
                "state": 4,
                "next": {"locations/watch-3f9a": 1440},
                "chunks": 3,
                "distance": 1200.5,
                "ascent": 12,
                "descent": 3,
                "bounds": {"south": 1, "west": 2, "north": 3, "east": 4},
                "polyline": ["_p~iF~ps|U"],
                "splits": TOTALS["splits"],
                "laps": TOTALS["laps"],
            }
        ),
    ),
    (
        "weather",
        json.dumps(
            {
                "revision": 5,
                "observedAt": 1.7e9,
                "fetchedAt": 1.7e9,
                "temperature": -3.5,
                "humidity": 0.5,
                "windSpeed": 3,
                "condition": "sleet",
                "provider": "open-meteo",
                "attribution": {"text": "a", "url": "b"},
                "isStale": True,
            }
        ),
    ),
    ("fit", fit()),
    ("url", "mqtts://user:p%40ss@[::1]:8883/"),
    ("names", ID),
    ("names", "samples/watch-3f9a"),
    ("names", "a_b-c"),
] + [
    ("topic", f"pacebus/v1/{rest}")
    for rest in [
        f"ff/demo/{ID}/{topic}"
        for topic in [
            "command",
            "samples/watch-3f9a",
            "samples/watch-3f9a/ack",
            "activity/register",
            "summary/metrics",
            "series/12",
            "export/folder/result",
        ]
    ]
    + [
        "u/demo/replies/a",
        f"u/demo/runs/{ID}/partners",
        "u/demo/notifications/register",
        "services/_exporter/a-1",
        "rejected/_exporter",
    ]
]

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, (target, payload) in enumerate(SEEDS):
        content = payload if isinstance(payload, bytes) else payload.encode()
        (folder / f"seed-{number:02}-{target}").write_bytes(bytes([TARGETS.index(target)]) + content)
