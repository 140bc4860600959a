"""Valid payloads of the bus, for seeds.py."""

import json

from seed_values import END, ID, ITEM, PROFILE, RECORD, REPORT, SNAPSHOT, START, STATE, TOTALS, command, lines

SHARING = {"position": True, "heartRate": True, "route": False, "ghost": True, "hideNear": 200}
SETTINGS = {"name": "Sunday", "goal": {"distance": 5000}, "start": "together", "clock": "gun", "countdown": 5}
VIEW = {
    "run": ID,
    "user": "demo",
    "revision": 5,
    "status": "confirming",
    "host": "demo",
    **SETTINGS,
    "lateJoin": True,
    "createdAt": 1.7e9,
    "expiresAt": 1.7e9 + 86400,
    "confirmBy": 1.7e9 + 60,
    "startsAt": 1.7e9 + 70,
    "prompt": {"since": 1.7e9},
    "participants": [
        {
            "user": "demo",
            "status": "accepted",
            "at": 1.7e9,
            "sharing": SHARING,
            "session": ID,
            "startId": ID,
            "startsAt": 1.7e9 + 70,
        }
    ],
    "ghosts": [{"number": 1, "pace": 300}],
    "results": {"provisional": True, "rows": [{"user": "demo", "status": "finished", "place": 1, "sharing": SHARING}]},
}
PARTNERS = {
    "d": 1000.5,
    "now": 1.7e9,
    "pl": 1,
    "r": ID,
    "s": 7,
    "t": 300,
    "x": [
        {"a": 1.5, "c": 1.7e9, "d": 990, "gm": -10.5, "gs": -3, "h": 120, "p": 300, "pa": False, "s": 4, "st": "live"},
        {"g": 1, "st": "ghost", "gm": 5, "d": 1005.5, "t": 300, "v": 3.3},
    ],
}
PARTNERS["x"][0] |= {"u": "other", "t": 299, "k": 80, "v": 3.3}
HEALTH = {
    "activityType": 37,
    "locationType": 3,
    "startDate": 1.7e9,
    "endDate": 1.7e9 + 900,
    "duration": 900,
    "events": [{"type": 1, "date": 1.7e9 + 10}, {"type": 3, "date": 1.7e9 + 20, "duration": 20}],
    "quantities": [{"identifier": "HKQuantityTypeIdentifierHeartRate", "statistic": "sum", "unit": "m", "value": 2.5}],
    "metadata": {"HKIndoorWorkout": False, "HKExternalUUID": ID, "HKSyncIdentifier": ID, "HKSyncVersion": 9},
}
PLACE = {"at": 1.7e9, "session": ID}


def request(name, /, **fields):
    return json.dumps({"id": ID, "client": "a", "type": name, **fields})


SEEDS = (
    [
        ("batch", json.dumps({"s": 0, "x": [ITEM, {"c": 1.7e9 + 2}, {"c": 1.7e9 + 30, "d": 10}, {}]})),
        (
            "batch",
            json.dumps({"x": [{"c": 1.7e9 + i, "d": 3, "h": 80} for i in range(8)], "s": 7, "q": [[{"a": None}]]}),
        ),
        ("batch", '{"s":0,"x":[{"c":1.7e9,"h":-0.0e-400,"d":1e999,"k":123456789012345678901234567890e-27}]}'),
        ("commands", lines(START, command("pause", 1.7e9 + 300), command("resume"), command("lap"), END)),
        ("commands", lines(START, command("discard"), command("recover"), END, END)),
        (
            "commands",
            lines(START, command("suspend"), command("deviceReady", device="watch-3f9a"), command("resume"), END),
        ),
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
            json.dumps(
                {"id": ID, "client": "a", "type": "workouts", "limit": 20, "before": {"at": 1.7e9, "session": ID}}
            ),
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
        ("url", "mqtts://user:p%40ss@[::1]:8883/"),
        ("names", ID),
        ("names", "samples/watch-3f9a"),
        ("names", "a_b-c"),
    ]
    + [
        (reader, f"pacebus/v1/{rest}" + ("" if reader == "topic" else "\n{}"))
        for reader in ["topic", "message"]
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
    + [
        ("requests", request("chunks", of="track")),
        ("requests", request("chunks", session=ID)),
        ("requests", request("export", target="folder")),
        ("requests", request("file", format="gpx", **{"from": 16})),
        ("requests", request("workouts", changedAfter={"changed": 7, "since": 3, "latest": 9})),
        ("requests", request("imports", before=1.7e9)),
        ("requests", request("retry", **{"import": ID})),
        ("requests", request("one", login="1f")),
        ("requests", request("all")),
        ("requests", request("a", device="phone", enabled=True, token="0A" * 32, kind="start", environment="sandbox")),
        ("requests", request("a", device="phone", enabled=False)),
        ("requests", request("a", exercises={"1-1": {"name": "Lunge", "exercise": "lunge", "sets": [{"weight": 20}]}})),
        ("request", request("edit", session=ID, name="Hill", note=None, exertion=7, trimStart=1.7e9, weight=62)),
        ("request", request("savePlan", plan="a", definition={"sections": [{"items": [{"name": "Row"}]}]}, base={})),
        (
            "runRequest",
            request("create", **SETTINGS, invite=["other"], ghosts=[{"pace": 300}, {"session": ID}], sharing=SHARING),
        ),
        ("runRequest", request("create", start="rolling", endsAt=1.8e9, invite=["a", "b"])),
        ("runRequest", request("accept", run=ID, sharing={"hideNear": 0})),
        ("runRequest", request("invite", run=ID, users=["a"])),
        ("runRequest", request("runs", before=1.7e9, limit=5)),
        ("runRequest", request("setInvites", **{"from": "contacts"})),
        ("runView", json.dumps(VIEW)),
        ("runView", json.dumps({"revision": 3, "contacts": ["a"], "blocked": ["b"], "invitesFrom": "nobody"})),
        (
            "runView",
            json.dumps(
                {
                    "run": ID,
                    "status": "finished",
                    "host": "demo",
                    "createdAt": 1.7e9,
                    "runners": 2,
                    "own": "finished",
                    "place": 1,
                    "user": "demo",
                    "km": [300.5],
                    "mi": [],
                    "polyline": ["_p~iF~ps|U"],
                    "h": [[120, None]],
                }
            ),
        ),
        ("partners", json.dumps(PARTNERS)),
        ("partners", json.dumps({"r": ID, "s": 3, "now": 1.7e9, "x": [{"u": "other", "c": 1.7e9, "la": 47, "lo": 8}]})),
        ("heads", json.dumps({**SNAPSHOT, "r": ID, "la": 47, "lo": 8}, separators=(",", ":"))),
        ("heads", '{"columns":{"c":[1.7e9]},"n":0,"of":1,"revision":1700000000123}'),
        ("heads", json.dumps({"revision": 3, "chunks": 2, "status": "active", "c": 1.7e9, "n": 5})),
        ("heads", json.dumps({"at": 1.7e9, "service": "a", "shards": "00-ff", "status": "online", "version": "1"})),
        ("heads", json.dumps({"revision": 3, **PROFILE, "edit": {"note": "a", "exertion": 5}, "erasedAt": 1.7e9})),
        (
            "importPart",
            json.dumps(
                {
                    "n": 0,
                    "of": 2,
                    "name": "a.fit",
                    "bytes": 5,
                    "x": "YWJj",
                    "workout": {"name": "Run", "activity": "running"},
                }
            ),
        ),
        ("importPart", '{"n":3,"error":{"code":"busy","message":"a","retryAfter":5}}'),
        ("importPart", json.dumps({"n": 0, "of": 1, "name": "a", "workout": 7, "incomplete": True, "x": "YQ=="})),
        (
            "statuses",
            json.dumps(
                {
                    "import": ID,
                    "revision": 3,
                    "status": "asking",
                    "name": "a",
                    "bytes": 5,
                    "at": 1.7e9,
                    "progress": 0.5,
                    "sessions": [ID],
                    "match": ID,
                    "remarks": ["a"],
                }
            ),
        ),
        (
            "statuses",
            json.dumps(
                {
                    "session": ID,
                    "user": "demo",
                    "target": "healthKit",
                    "revision": 2,
                    "status": "pending",
                    "workout": 9,
                    "attempts": 1,
                    "files": ["a"],
                    "mode": "phone",
                    "healthKit": HEALTH,
                }
            ),
        ),
        ("statuses", json.dumps({"id": ID, "workout": 9, "ok": False, "error": {"code": "denied", "message": "a"}})),
        ("statuses", json.dumps(HEALTH)),
        (
            "statuses",
            json.dumps(
                {
                    "session": ID,
                    "user": "demo",
                    "revision": 3,
                    "status": "stale",
                    "devices": [{"device": "phone", "status": "active"}],
                    "topic": "a",
                    "reason": "malformed",
                }
            ),
        ),
        ("statuses", json.dumps({"revision": 3, "before": 1.7e9, "logins": [{"id": "1f", "at": 1.7e9}]})),
        ("history", json.dumps({"limit": 20, "before": PLACE, "from": 1.6e9, "to": 1.7e9})),
        ("history", '{"changedAfter":7}'),
        ("history", '{"changed":7,"since":3,"latest":9}'),
        ("history", json.dumps(PLACE)),
        ("history", json.dumps({"session": ID, "deleted": True, "changed": 7})),
        (
            "history",
            json.dumps(
                {
                    "session": ID,
                    "name": "Run",
                    "activity": "running",
                    "environment": "outdoor",
                    "startedAt": 1.7e9,
                    "endedAt": 1.7e9 + 900,
                    "activeDuration": 900,
                    "elapsedDuration": 900,
                    "changed": 7,
                    "note": "a",
                    **{key: TOTALS[key] for key in ("distance", "bests", "load", "sketch", "energySource")},
                }
            ),
        ),
        ("message", f"pacebus/v1/FF/demo/{ID}/samples/a\n{{}}"),
        ("message", "$SYS/broker/load/messages/received/1min\n17.5 seconds\nnan"),
        ("message", "$SYS/pacebus/limited/rate/demo\n17\n19\n3"),
        ("message", '$SYS/pacebus/accounts/demo\n{"viewer":true}'),
        ("message", 'pacebus/v1/services/_exporter/a-1\n{"status":"online","at":1.7e9}\n\n'),
    ]
)
