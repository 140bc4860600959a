"""Valid records of stores, for seeds.py."""

import json
import struct
import zlib

from seed_payloads import HEALTH, SETTINGS, SHARING
from seed_values import ID, NEXT, PROFILE, RECORD, REPORT, STATE

SESSION = {
    "key": {"user": "demo", "session": ID},
    "isLive": True,
    "activity": "running",
    "environment": "outdoor",
    "name": "Run",
    "units": "metric",
    "timeZone": "GMT",
    "profile": PROFILE,
    "permissions": {"heartRate": True, "workouts": True},
    "mode": "watch",
    "hasItems": True,
    "status": {"completed": {"endedAt": 1.7e9 + 900}},
    "closedSegments": [[1.7e9, 1.7e9 + 900]],
    "presence": {"commands": [[None, 1.7e9], [1.7e9 + 900, None]], "items": [[1.7e9 + 899, None]]},
    "laps": [1.7e9 + 100],
    "streams": NEXT,
    "lastTransition": 1.7e9 + 900,
}
ROUTE = {"revision": 4, "state": 4, "next": {"locations/watch": 9}, "chunks": 1, "distance": 1200.5, "ascent": 12}
SESSION_RECORD = {
    "session": SESSION,
    "revision": 9,
    "profileRevision": 3,
    "endRevision": 7,
    "lastActiveAt": 1.7e9 + 900,
    "itemCount": 1440,
    "heardSamples": {"revision": 3, "clockSkew": {"watch": 2.5}},
    "report": REPORT,
    "route": ROUTE,
    "workout": RECORD,
    "changed": 7,
    "publishedAt": 1.7e9 + 901,
}
RUN_SESSION = {
    "session": ID,
    "revision": 3,
    "status": "completed",
    "startedAt": 1.7e9,
    "endedAt": 1.7e9 + 900,
    "environment": "outdoor",
    "run": ID,
}
PARTICIPANT = {
    "user": "demo",
    "decision": "confirmed",
    "status": "finished",
    "invitedAt": 1.7e9,
    "at": 1.7e9,
    "sharing": SHARING,
    "isHidden": False,
    "acceptedAt": 1.7e9,
    "isLate": False,
    "entry": {
        "session": ID,
        "startId": ID,
        "confirmedAt": 1.7e9,
        "startsAt": 1.7e9,
        "absentBy": 1.7e9 + 600,
        "isAbsent": False,
        "sessions": [RUN_SESSION],
    },
}
RUN = {
    "id": ID,
    "createdAt": 1.7e9,
    "creator": "demo",
    "settings": SETTINGS,
    "host": "demo",
    "status": "running",
    "participants": [PARTICIPANT],
    "ghosts": [{"number": 1, "pace": 300, "createdBy": "demo"}],
    "blocks": [{"by": "demo", "of": "other"}],
    "isForTwo": False,
    "erasedRunners": 0,
    "startsAt": 1.7e9,
    "deadlines": {"expires": 1.7e9 + 86400, "isConfirmingExtended": False},
}
RUN_WORKOUT = {key: RECORD[key] for key in ("session", "revision", "environment", "segments", "summaries")}
RUN_WORKOUT |= {"activeDuration": 900, "elapsedDuration": 900, "distance": 1200.5, "hasRoute": True}
CURVE = {"points": "6AfoB+gH0A8=", "spacing": 1, "corner": True}
TOKEN = {"token": "0a" * 32, "environment": "sandbox"}
OBSERVATION = {
    "observedAt": 1.7e9,
    "temperature": 3.5,
    "humidity": 0.5,
    "condition": "rain",
    "provider": "open-meteo",
    "attribution": {"text": "a", "url": "b"},
}


def number(value):
    """A variable-length integer."""
    result = b""
    while value >= 0x80:
        result += bytes([value & 0x7F | 0x80])
        value >>= 7
    return result + bytes([value])


def zigzag(value):
    return number((value << 1) ^ (value >> 63))


def chunk():
    """Items with a time, a whole number, thousandths and eight bytes."""
    items, previous = b"", 0
    for second in range(3):
        time = 1_700_000_000_000_000 + second * 1_000_000
        items += number(7) + zigzag(time - previous) + number(120 << 3) + number((3250 << 1) << 2 | 1)
        previous = time
    return items + number(2) + number(2) + struct.pack("<d", 1 / 3)


def journal(*bodies):
    head = struct.pack("<BHBqI", 1, 1, 0x6F, 3, len(bodies))
    for body in bodies:
        head += struct.pack("<II", len(body), zlib.crc32(body))
    return head + struct.pack("<I", zlib.crc32(head)) + b"".join(bodies)


def entry(name, first):
    return struct.pack("<H", len(name)) + name + struct.pack("<I", first) + chunk()


UUID_ENTRY = struct.pack("<HB", 0x8000 | 11, 5) + bytes(range(16)) + b"demo//watch" + struct.pack("<I", 3) + b"\1\2"
STREAM = f"demo/{ID}/watch"

SEEDS = [
    ("chunks", chunk()),
    ("chunks", zigzag(1_700_000_000_000_000) + chunk()),
    ("journal", journal(entry(b"demo/a/watch", 0), UUID_ENTRY)),
    ("journal", bytes([2, len(UUID_ENTRY), 20]) + UUID_ENTRY + entry(b"a", 7)),
    (
        "streamRecord",
        json.dumps(
            {
                "state": STATE,
                "report": REPORT,
                "needsSummary": True,
                "isLarge": True,
                "profile": {"revision": 3, **PROFILE},
                "route": {"revision": 4, "chunks": 1, "slot": "a", "totals": {"distance": 1200.5}},
                "skews": {"watch": 2.5},
            }
        ),
    ),
    ("streamRecord", json.dumps({"state": STATE, "report": ROUTE, "needsSummary": False})),
    ("streamRecord", json.dumps({"revision": 4, "chunks": 1, "slot": "b", "totals": {"ascent": 3}})),
    ("digits", f"1700000000000000 past\n{STREAM}\n{STREAM}/00000012"),
    ("digits", "20833 17\n20833 19\n20833 1\n20833 5\n20832 5"),
    ("sessionRecord", json.dumps(SESSION_RECORD)),
    (
        "sessionRecord",
        json.dumps(
            {
                **SESSION_RECORD,
                "session": {**SESSION, "status": {"unfinished": {"_0": {"active": {"since": 1.7e9}}}}},
                "workout": None,
            }
        ),
    ),
    (
        "sessionRecord",
        json.dumps(
            {
                "profile": PROFILE,
                "revision": 3,
                "replies": [{"id": ID, "ok": True, "now": 1.7e9}],
                "signedOut": {"revision": 3, "logins": []},
                "current": 9,
                "erasedAt": 1.7e9,
                "changes": {"spans": [[3, 7]], "forgotten": 0, "cleared": 0},
            }
        ),
    ),
    ("sessionRecord", '{"spans":[[3,7],[9,9]],"forgotten":3,"cleared":0}'),
    (
        "sessionRecord",
        json.dumps(
            {
                "hour": {"began": 1.7e9, "count": 3},
                "day": {"count": 0},
                "past": {"count": 0},
                "plans": {"count": 0},
                "stored": 5,
            }
        ),
    ),
    (
        "runRecord",
        json.dumps(
            {
                "run": RUN,
                "views": {"demo": {"topic": 5, "digest": 7, "at": 1.7e9, "isCleared": False}},
                "workouts": {"demo": [RUN_WORKOUT]},
            }
        ),
    ),
    (
        "runRecord",
        json.dumps({"contacts": ["a"], "blocked": [], "invitesFrom": "everyone", "topic": 3, "erasedAt": 1.7e9}),
    ),
    (
        "runRecord",
        json.dumps(
            {
                "session": ID,
                "summaries": {"metrics": 5},
                "curve": CURVE,
                "route": {
                    "lines": [[47100000, 8200000, 120, 47101000, 8201000, None]],
                    "startSlack": 3.5,
                    "endSlack": 0,
                },
            }
        ),
    ),
    ("runRecord", json.dumps({"demo": CURVE, "other": {"metersPerSecond": 3.3}})),
    (
        "runRecord",
        json.dumps(
            {
                "ceiling": 9,
                "runners": [
                    {
                        "user": "demo",
                        "session": ID,
                        "start": {"latitude": 47, "longitude": 8, "slack": 5},
                        "base": {"seconds": 0, "meters": 0},
                    }
                ],
            }
        ),
    ),
    (
        "runRecord",
        json.dumps(
            {"isHost": True, "invited": ["a"], "isShown": False, "isOccupied": True, "count": 3, "since": 1.7e9}
        ),
    ),
    (
        "activityRecord",
        json.dumps(
            {
                "devices": [
                    {
                        "device": "phone",
                        "phase": {"ending": {"_0": TOKEN, "_1": {"id": ID, "since": 1.7e9, "began": 1.7e9}}},
                        "startToken": TOKEN,
                    },
                    {"device": "tablet", "phase": {"none": {"startsAt": 1.7e9}}},
                ],
                "answered": [ID],
                "revision": 3,
                "changedAt": 1.7e9,
            }
        ),
    ),
    (
        "activityRecord",
        json.dumps(
            {
                "devices": [{"device": "phone", "token": TOKEN, "registeredAt": 1.7e9}],
                "answered": [ID],
                "alerts": [
                    {
                        "run": ID,
                        "kind": "confirm",
                        "at": 1.7e9,
                        "expiresAt": 1.7e9 + 60,
                        "pending": {"phone": ID},
                        "isOver": False,
                    }
                ],
            }
        ),
    ),
    (
        "jobRecord",
        json.dumps(
            {
                "workout": {
                    "revision": 9,
                    "mode": "watch",
                    "summaries": {"metrics": 5},
                    "healthKit": HEALTH,
                    "readyAt": 1.7e9,
                },
                "jobs": [
                    {
                        "target": "folder",
                        "status": "pending",
                        "revision": 3,
                        "workout": 9,
                        "attempts": 1,
                        "nextAttemptAt": 1.7e9,
                        "files": ["a.fit"],
                    }
                ],
                "answered": [ID],
                "changedAt": 1.7e9,
            }
        ),
    ),
    (
        "jobRecord",
        json.dumps(
            {
                "status": "logging",
                "name": "a.fit",
                "bytes": 5,
                "of": 1,
                "received": 1,
                "revision": 3,
                "beganAt": 1.7e9,
                "changedAt": 1.7e9,
                "fingerprint": "1f" * 32,
                "workouts": [{"start": 1.7e9, "end": 1.7e9 + 900, "generation": 0, "isLogged": True}],
                "mayLog": False,
                "remarks": [],
            }
        ),
    ),
    (
        "answers",
        "\n"
        + json.dumps(
            {
                "cell": {"la": 4710, "lo": 820},
                "reading": {"observation": OBSERVATION, "fetchedAt": 1.7e9, "dueAt": 1.7e9 + 900},
                "isStale": False,
                "revision": 3,
                "changedAt": 1.7e9,
            }
        ),
    ),
]
