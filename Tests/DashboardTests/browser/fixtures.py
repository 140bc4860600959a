"""Messages of the bus that bring the pages into each of their states."""

import math
import random
import time

SESSION = "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07"
USERS = ["anna", "ben", "carla", "dora", "emil"]


def session_of(user):
    return SESSION[:-2] + f"{USERS.index(user) if user in USERS else 0x40 + RUNNERS.index(user):02x}"


def topic(user, name):
    session = session_of(user)
    return f"pacebus/v1/{session[-2:]}/{user}/{session}/{name}"


def polyline(points):
    text = ""
    last = (0, 0)
    for point in points:
        place = tuple(round(value * 1e5) for value in point)
        for value, before in zip(place, last):
            number = (value - before) << 1
            number = ~number if number < 0 else number
            while number >= 0x20:
                text += chr((0x20 | (number & 0x1F)) + 63)
                number >>= 5
            text += chr(number + 63)
        last = place
    return text


def track(count):
    """A winding path."""
    chance = random.Random(4)
    latitude, longitude, heading = 52.5145, 13.3501, 0.4
    points = []
    for _ in range(count):
        heading += chance.uniform(-0.26, 0.32)
        latitude += math.cos(heading) * 0.00062
        longitude += math.sin(heading) * 0.00102
        points.append((latitude, longitude))
    return points


ALLOWED = {
    "preparing": ["deviceReady", "discard", "update"],
    "active": ["deviceReady", "pause", "lap", "suspend", "end", "discard", "update"],
    "paused": ["deviceReady", "resume", "suspend", "end", "discard", "update"],
    "suspended": ["deviceReady", "resume", "end", "discard", "update"],
    "saving": ["update"],
    "completed": ["update"],
    "canceled": ["recover"],
    "deleted": [],
}


def state(user, now, activity="running", **changes):
    names = {"running": "Outdoor Running", "cycling": "Outdoor Cycling", "swimming": "Outdoor Swimming"}
    start = now - 2530
    return {
        "session": session_of(user),
        "user": user,
        "revision": int(now * 1000),
        "status": "active",
        "allowed": ALLOWED[changes.get("status", "active")],
        "activity": activity,
        "environment": "outdoor",
        "name": names.get(activity, "Upper Body A"),
        "symbol": "figure.run",
        "healthKitActivityType": 37,
        "mode": "watch",
        "startedAt": start,
        "segments": [[start, None]],
        "laps": [start + 900, start + 1850],
        "units": "metric",
        "streams": {},
        "isLive": True,
        **changes,
    }


def metrics(user, now, **changes):
    values = {
        "u": user,
        "s": int(now * 1000),
        "c": now - 1,
        "t": 2529,
        "d": 8310.4,
        "p": 301,
        "dp": 345,
        "h": 142.4,
        "ha": 139,
        "hx": 171,
        "k": 612.2,
        "ks": "estimate",
        "v": 2.9,
        "dv": 2.9,
        "cd": 172,
        "w": 231,
        "wa": 222,
        "ap": 304,
        "vx": 4.4,
        "sn": 7123,
        "tm": 2480,
        "el": 86,
        "tp": 14,
        "z": [120, 480, 1130, 700, 100],
        "pa": False,
        "lp": 3,
        "lt": 680,
        "ld": 2210,
        "n": 2500,
        "ds": {"watch-3f9a": {"c": now - 1, "b": 0.18}, "phone-11aa": {"c": now - 2, "b": 0.64}},
        **changes,
    }
    return {key: value for key, value in values.items() if value is not None}


def route(user, now, **changes):
    points = track(95)
    latitude, longitude = points[-1]
    return {
        "u": user,
        "s": int(now * 1000),
        "c": now - 1,
        "d": 8305,
        "la": latitude,
        "lo": longitude,
        "al": 38,
        "v": 2.9,
        "el": 86,
        "dl": 80,
        "pl": [polyline(points)],
        "n": 2498,
        **changes,
    }


def marathon(user, now):
    points = track(600)
    return route(user, now, d=42195, la=points[-1][0], lo=points[-1][1], pl=[polyline(points)])


def weather(now):
    return {
        "revision": int(now * 1000),
        "observedAt": now,
        "fetchedAt": now,
        "temperature": 8.2,
        "humidity": 0.76,
        "condition": "partlyCloudy",
        "provider": "open-meteo",
        "isStale": False,
        "attribution": {"text": "Open-Meteo.com", "url": "https://open-meteo.com"},
    }


def planned(now, phase="work", mode="workout", **changes):
    bench = {"name": "Bench Press", "sets": [{"repetitions": 8, "weight": 62.5, "rest": 90}] * 5}
    row = {"name": "Bent-over Row", "sets": [{"repetitions": 10, "weight": 50}] * 4}
    timer = {"block": 0, "type": "stopwatch", "phase": phase, "round": 1, "rounds": 1, "elapsed": 612, "asOf": now}
    if phase == "rest":
        timer["endsAt"] = now + 41.2
    return state(
        "anna",
        now,
        "traditionalStrength",
        timer=timer,
        plan={
            "name": "Upper Body A",
            "blocks": [
                {
                    "name": "Main lifts",
                    "timer": {"type": "stopwatch"},
                    "items": [
                        {"id": "1-1", "chosen": 0, "exercises": [bench, {"name": "Dumbbell Press"}]},
                        {"id": "1-2", "chosen": 0, "exercises": [row]},
                    ],
                },
                {
                    "name": "Finisher",
                    "timer": {"type": "emom", "rounds": 6, "work": 60},
                    "items": [
                        {"id": "2-1", "chosen": 0, "exercises": [{"name": "Push-up", "sets": [{"repetitions": 12}]}]}
                    ],
                },
            ],
        },
        progress={
            "item": "1-1",
            "set": 2,
            "done": 0,
            "total": 3,
            "visits": [{"block": 0, "at": now - 612}],
            "changes": [],
            "completed": {"1-1": [{"round": 1, "set": number, "at": now - 300 + number} for number in (0, 1)]},
            "skipped": [],
            "painFlagged": [],
            "presentationMode": mode,
        },
        **changes,
    )


def current(user, now, **changes):
    return {
        "revision": int(now * 1000),
        "session": session_of(user),
        "status": "active",
        "activity": "running",
        "name": "Outdoor Running",
        "symbol": "figure.run",
        "offersResume": True,
        **changes,
    }


def outdoor(user, now, activity="running", values=(), **changes):
    return [
        (topic(user, "state"), state(user, now, activity, **changes)),
        (topic(user, "weather"), weather(now)),
        (topic(user, "metrics"), metrics(user, now, **dict(values))),
        (topic(user, "route"), route(user, now)),
    ]


def live_scenes(now):
    """The states of a live page: name and messages."""
    start = now - 2530
    silent = now - 42
    planned_metrics = (
        topic("anna", "metrics"),
        metrics("anna", now, d=None, p=None, dp=None, v=None, dv=None, cd=None),
    )
    return {
        "running": outdoor("anna", now),
        "paused": outdoor("anna", now, status="paused", segments=[[start, now - 20]]),
        "cycling": outdoor(
            "anna", now, "cycling", {"d": 104230, "dp": None, "dv": 7.61}, segments=[[start - 9000, None]]
        ),
        "marathon": [
            *outdoor("anna", now, values={"d": 42195}, segments=[[start - 10000, None]])[:-1],
            (topic("anna", "route"), marathon("anna", now)),
        ],
        "silent": [
            (topic("anna", "state"), state("anna", now)),
            (topic("anna", "metrics"), metrics("anna", silent)),
            (topic("anna", "route"), route("anna", silent)),
        ],
        "indoor": [(topic("anna", "state"), state("anna", now)), (topic("anna", "metrics"), metrics("anna", now))],
        "countdown": [
            (
                topic("anna", "state"),
                state("anna", now, status="preparing", countdownEndsAt=now + 60, segments=[], laps=[]),
            )
        ],
        "saving": outdoor("anna", now, status="saving", segments=[[start, now - 2]]),
        "completed": outdoor("anna", now, status="completed", segments=[[start, now - 30]], endReason="ended"),
        "canceled": outdoor("anna", now, status="canceled", segments=[[start, now - 90]], endReason="discarded"),
        "notices": [
            *outdoor("anna", now, banner="liveMetricsUnavailable"),
            (
                "pacebus/v1/services/_metrics-aggregator/a",
                {"at": now, "service": "metrics-aggregator", "shards": "none", "status": "offline", "version": "1"},
            ),
        ],
        "planned": [(topic("anna", "state"), planned(now)), planned_metrics],
        "rest": [(topic("anna", "state"), planned(now, "rest")), planned_metrics],
        "planned-list": [(topic("anna", "state"), planned(now, mode="list")), planned_metrics],
    }


def home(now):
    """Cards of five people."""
    start = now - 2530
    return [
        message
        for user, others in {
            "anna": outdoor("anna", now),
            "ben": [(topic("ben", "state"), state("ben", now)), (topic("ben", "metrics"), metrics("ben", now - 90))],
            "carla": outdoor("carla", now, status="paused", segments=[[start, now - 20]]),
            "dora": outdoor("dora", now, "cycling", {"d": 104230, "dv": 7.6}, segments=[[start - 9000, None]]),
            "emil": outdoor("emil", now, "swimming"),
        }.items()
        for message in [*others, (f"pacebus/v1/u/{user}/current", current(user, now))]
    ]


def operator_session(number):
    return f"0b9f6d1e-1f1a-4c58-9a55-3f0c1de{number:05x}"


def operator_topic(user, number, name):
    session = operator_session(number)
    return f"pacebus/v1/{session[-2:]}/{user}/{session}/{name}"


def heard(user, number, last, delay=0):
    """An owner's word of the newest item, published as it comes or some seconds after the last one."""
    return operator_topic(user, number, "heard/samples"), {"s": int((last + delay) * 1000), "c": last, "n": 9000}


def operator_quiet(now):
    """One session, and all services online."""
    user, number = "runner-0200", 200
    value = {**state("anna", now), "user": user, "session": operator_session(number)}
    messages = [
        (operator_topic(user, number, "state"), value),
        (operator_topic(user, number, "metrics"), metrics(user, now)),
        heard(user, number, now),
    ]
    for name in [
        "dashboard",
        "exporter",
        "live-activity-publisher",
        "metrics-aggregator",
        "route-builder",
        "session-engine",
        "virtual-run",
        "weather-fetcher",
    ]:
        presence = {"at": now, "service": name, "shards": "00-ff", "status": "online", "version": "0.9.0"}
        messages.append((f"pacebus/v1/services/_{name}/host-0123456789abcdef", presence))
    return messages


def operator(now):
    """Sessions of many, services and figures of the broker: three silent, one saving for long."""
    start = now - 2530
    messages = []
    for number in range(129):
        user = f"runner-{number:04}"
        activity = ["running", "cycling", "hiking", "swimming", "running"][number % 5]
        status = {0: "paused", 1: "suspended", 2: "preparing"}.get(number % 20, "active")
        age = {7: 95, 8: 4210, 9: 190000}.get(number, number % 7)
        if number == 11:
            status, age = "saving", 300
        revision = int((now - {11: 300}.get(number, 3 if status == "preparing" else 900)) * 1000)
        segments = [] if status == "preparing" else [[start - number * 60, None if status == "active" else now - 100]]
        changes = {
            "user": user,
            "session": operator_session(number),
            "status": status,
            "segments": segments,
            "revision": revision,
        }
        value = {**state("anna", now, activity), **changes}
        messages.append((operator_topic(user, number, "state"), value))
        if status != "preparing":
            figures = metrics(user, now - age, d=1200.0 + number * 731, h=128 + number % 40)
            messages.append((operator_topic(user, number, "metrics"), figures))
            messages.append(heard(user, number, now - age, 15 if age > 60 else 0))
    messages += operator_quiet(now)
    messages += [
        (
            "pacebus/v1/services/_session-engine/host-fedcba9876543210",
            {"at": now, "service": "session-engine", "shards": "none", "status": "online", "version": "0.9.0"},
        ),
        (
            "pacebus/v1/services/_weather-fetcher/host-0123456789abcdef",
            {"at": now, "service": "weather-fetcher", "shards": "none", "status": "offline", "version": "0.9.0"},
        ),
        (
            "pacebus/v1/rejected/_metrics-aggregator",
            {
                "at": now - 4,
                "bytes": 12,
                "head": "{",
                "reason": "malformed",
                "topic": f"pacebus/v1/05/runner-0005/{operator_session(5)}/samples/watch-3f9a",
            },
        ),
        (
            "pacebus/v1/rejected/_session-engine",
            {
                "at": now - 2,
                "bytes": 900,
                "head": "{",
                "reason": "bad_topic",
                "topic": "pacebus/v1/\u001b[31m\u202eevil/" + "x" * 300,
            },
        ),
    ]
    figures = {
        "clients/connected": 143,
        "load/messages/received/1min": 8012.4,
        "load/messages/sent/1min": 31213.9,
        "load/bytes/received/1min": 912345.1,
        "load/bytes/sent/1min": 8123456.7,
        "publish/messages/dropped": 3,
        "retained messages/count": 4120,
        "store/messages/count": 4163,
        "heap/current": 12345678,
    }
    messages += [(f"$SYS/broker/{name}", value) for name, value in figures.items()]
    return [*messages, ("$SYS/broker/uptime", 183212)]


# Where it is noon: no day and no week ends while a test runs.
ZONE = f"Etc/GMT{time.gmtime().tm_hour - 12:+d}"
RUNNERS = [f"runner-{number:02}" for number in range(1, 21)]


def runner_metrics(number, at, distance=0.0, **changes):
    """Values and where a runner is: most are spread over a park, five run together."""
    latitude, longitude = (
        (52.512, 13.351) if 10 <= number < 15 else (52.509 + 0.0011 * (number % 5), 13.340 + 0.0013 * number)
    )
    place = {"la": latitude + distance / 111_000, "lo": longitude + (0.00003 * number if 10 <= number < 15 else 0)}
    devices = {"watch-3f9a": {"c": at - 1, "b": 0.15 if number == 6 else 0.7}}
    return topic(RUNNERS[number], "metrics"), metrics(
        RUNNERS[number], at, d=2000.0 + 411 * number, h=128 + number, n=int(at), ds=devices, **place, **changes
    )


def twenty(now):
    """Twenty runners: two silent, two paused, one with a low battery, two finished."""
    messages = []
    for number, user in enumerate(RUNNERS):
        start = now - 1800 - 30 * number
        changes = {"segments": [[start, None]], "startedAt": start, "laps": [], "timeZone": ZONE}
        if number in (3, 8):
            changes.update(status="paused", segments=[[start, now - 40]])
        if number in (5, 19):
            changes.update(status="completed", segments=[[start, now - 5]], endedAt=now - 5)
        messages.append(
            (topic(RUNNERS[number], "state"), state(user, now, "cycling" if number % 7 == 6 else "running", **changes))
        )
        if number in (5, 19):
            messages.append(workout(user, session_of(user), now - 5, startedAt=start))
            messages.append((f"pacebus/v1/u/{user}/current", {"revision": int(now * 1000), "session": None}))
            continue
        at = now - 95 if number in (2, 17) else now
        messages.append(runner_metrics(number, at))
        messages.append((f"pacebus/v1/u/{user}/current", current(user, now)))
    return messages


def workout(user, session, end, **changes):
    """A finished record."""
    return f"pacebus/v1/{session[-2:]}/{user}/{session}/workout", {
        "session": session,
        "user": user,
        "revision": int(end * 1000),
        "activity": "running",
        "environment": "outdoor",
        "name": "Outdoor Running",
        "mode": "watch",
        "startedAt": end - 1800,
        "endedAt": end,
        "timeZone": ZONE,
        "segments": [[end - 1800, end]],
        "activeDuration": 1800,
        "elapsedDuration": 1800,
        "distance": 5210.4,
        "splits": [],
        "laps": [],
        "next": {},
        "summaries": {},
        **changes,
    }


def history(user, now):
    """Seven workouts, one of them today, with one second between their ends and a moment ago."""
    names = [
        ("running", "Outdoor Running", 5210.4),
        ("cycling", "Outdoor Cycling", 42100.0),
        ("traditionalStrength", "Upper Body A", None),
        ("swimming", "Pool Swimming", 1500.0),
        ("running", "Outdoor Running", 8310.0),
        ("hiking", "Hiking", 12400.0),
        ("running", "Outdoor Running", 3000.0),
    ]
    return [
        workout(
            user,
            f"{SESSION[:-2]}{0x80 + index:02x}",
            now - 600 - index,
            activity=activity,
            name=name,
            distance=distance,
            startedAt=now - 3000 - index,
            activeDuration=2400 - 60 * index,
        )
        for index, (activity, name, distance) in enumerate(names)
    ]


RUN = "5d9f6d1e-1f1a-4c58-9a55-3f0c1de0aa10"


def run_topic(name=""):
    return f"pacebus/v1/u/anna/runs/{RUN}{name}"


def run_view(now, statuses, **changes):
    """Anna's view of a run: the others' status or the changes of their rows."""
    participants = [
        {
            "user": user,
            "at": now,
            "startsAt": now - 300,
            "maximumHeartRate": 190,
            "sharing": {"position": True, "heartRate": True, "route": True, "ghost": False, "hideNear": 200},
            **({"session": session_of("anna")} if user == "anna" else {}),
            **(status if isinstance(status, dict) else {"status": status}),
        }
        for user, status in statuses.items()
    ]
    changes = {"startsAt": now - 300, **changes}
    return run_topic(), {
        key: value
        for key, value in {
            "run": RUN,
            "user": "anna",
            "revision": int(now * 1000),
            "status": "running",
            "host": "anna",
            "start": "together",
            "clock": "active",
            "countdown": 3,
            "lateJoin": True,
            "goal": {"distance": 5000},
            "createdAt": now - 400,
            "participants": participants,
            "ghosts": [],
            **changes,
        }.items()
        if value is not None
    }


def run_row(user, **changes):
    return {
        "u": user,
        "st": "connected",
        "a": 1,
        "d": 1029,
        "v": 3,
        "p": 330,
        "h": 151,
        "t": 300,
        "gm": 29,
        "gs": 9,
        **changes,
    }


def run_people(now):
    return "pacebus/v1/u/anna/run-people", {
        "revision": int(now * 1000),
        "contacts": ["ben", "carla", "dora"],
        "blocked": ["emil"],
        "invitesFrom": "contacts",
    }


def run_details():
    """The reply to `routes`: Anna's and Ben's, and the splits of both."""

    def rates(points, base):
        return [round(base + 18 * math.sin(index / 9)) for index in range(len(points))]

    def times(pace, length):
        return [round(pace * length * mark + 9 * math.sin(mark * 1.3), 1) for mark in range(1, int(5 / length) + 1)]

    own = track(95)
    other = [(latitude + 0.004, longitude + 0.006) for latitude, longitude in reversed(own)]
    return {
        "routes": [
            {"user": "anna", "polyline": [polyline(own)], "h": [rates(own, 148)]},
            {"user": "ben", "polyline": [polyline(other)]},
        ],
        "splits": [
            {"user": "ben", "km": times(312, 1), "mi": times(312, 1.609344)},
            {"user": "anna", "km": times(320, 1), "mi": times(320, 1.609344)},
        ],
    }


def run_overviews(now, count):
    return {
        "runs": [
            {
                "run": f"{RUN[:-4]}{index:04x}",
                "status": "finished",
                "name": f"Run {index}",
                "host": "ben",
                "createdAt": now - 86400 * index,
                "startsAt": now - 86400 * index,
                "runners": 2,
                "own": "finished",
                "place": 1 + index % 2,
            }
            for index in range(1, count + 1)
        ]
    }


def run_live(now, *rows):
    """Anna's own figures and her partners'."""
    return [
        (topic("anna", "state"), state("anna", now, run=RUN)),
        (topic("anna", "metrics"), metrics("anna", now, r=RUN, d=1000)),
        (
            run_topic("/partners"),
            {
                "r": RUN,
                "s": int(now * 1000),
                "now": now,
                "pl": 1 + sum(row["gm"] > 0 for row in rows),
                "d": 1000,
                "t": 300,
                "x": list(rows),
            },
        ),
    ]


def run_scenes(now):
    """The states of a virtual run: name and messages."""
    two = {"anna": "running", "ben": "running"}
    ghost = {"g": 1, "st": "connected", "d": 1003, "p": 300, "gm": 3, "gs": 1}
    finished = {"status": "finished", "finished": {"distance": 5010, "activeDuration": 1563, "pace": 312}}
    results = [
        {
            "user": "ben",
            "place": 1,
            "status": "finished",
            "time": 1563,
            "distance": 5010,
            "pace": 312,
            "averageHeartRate": 151,
        },
        {
            "user": "anna",
            "place": 2,
            "status": "finished",
            "time": 1600,
            "distance": 5000,
            "pace": 320,
            "behind": {"seconds": 37},
            "pauses": {"count": 1, "seconds": 30},
        },
        {"user": "carla", "status": "dnf", "distance": 1000, "environment": "indoor"},
    ]
    mine = {
        "session": session_of("anna"),
        "user": "anna",
        "revision": int(now * 1000),
        "distance": 5000,
        "startedAt": now - 1700,
        "activeDuration": 1600,
        "splits": [
            {"distance": 1000, "duration": 320 + n, "pace": 320 + n, "averageHeartRate": 140 + 4 * n} for n in range(5)
        ],
    }
    return {
        "run-hosting": [
            run_view(
                now,
                {"anna": "accepted", "ben": "accepted", "carla": "invited", "dora": {"status": "declined"}},
                status="inviting",
                startsAt=None,
                scheduledAt=now + 90000,
            ),
            run_people(now),
        ],
        "run-left": [
            run_view(now, {"anna": {"status": "declined", "reason": "unconfirmed"}}, host="ben", status="running")
        ],
        "run-invited": [run_view(now, {"ben": "accepted", "anna": "invited"}, host="ben", status="inviting")],
        "run-ready": [run_view(now, {"anna": "accepted", "ben": "confirmed"}, status="confirming", confirmBy=now + 60)],
        "run-waiting": [
            run_view(now, {"anna": "confirmed", "ben": "accepted"}, status="confirming", confirmBy=now + 60)
        ],
        "run-countdown": [
            run_view(
                now,
                {"anna": {"status": "confirmed", "startsAt": now + 50}, "ben": "confirmed"},
                status="starting",
                startsAt=now + 50,
            )
        ],
        "run-two": [
            run_view(now, two),
            *run_live(now, run_row("ben")),
            (
                run_topic("/positions"),
                {"r": RUN, "s": int(now * 1000), "now": now, "x": [{"u": "ben", "la": 52.503, "lo": 13.306}]},
            ),
        ],
        "run-lanes": [
            run_view(
                now, {user: "running" for user in USERS}, name="Sunday in the park", ghosts=[{"number": 1, "pace": 300}]
            ),
            *run_live(
                now,
                run_row("ben"),
                ghost,
                run_row("carla", d=950, gm=-50, gs=-14, st="stale", a=10, h=None),
                run_row("dora", d=700, gm=-300, gs=-99, st="disconnected", a=60),
                run_row("emil", d=600, gm=-400, gs=-144, st="paused"),
            ),
        ],
        "run-finished": [
            run_view(now, {"anna": "running", "ben": finished}),
            *run_live(now, run_row("ben", st="finished", d=5010, gm=1200, gs=330)),
        ],
        "run-lost": [
            run_view(now, two, prompt={"since": now - 195}),
            *run_live(now, run_row("ben", st="disconnected", a=195)),
        ],
        "run-results": [
            run_view(
                now,
                {"anna": "finished", "ben": finished, "carla": "left"},
                status="finished",
                results={"provisional": True, "rows": results},
            ),
            (topic("anna", "workout"), mine),
        ],
    }


def now():
    return time.time()
