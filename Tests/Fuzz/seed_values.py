"""Valid values of payloads, for seeds.py."""

import json

ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff"


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
