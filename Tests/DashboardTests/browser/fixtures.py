"""Messages of the bus that bring the pages into each of their states."""

import math
import random
import time

SESSION = "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07"
USERS = ["anna", "ben", "carla", "dora", "emil"]


def session_of(user):
    return SESSION[:-2] + f"{USERS.index(user):02x}"


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


def state(user, now, activity="running", **changes):
    names = {"running": "Outdoor Running", "cycling": "Outdoor Cycling", "swimming": "Outdoor Swimming"}
    start = now - 2530
    return {
        "session": session_of(user), "user": user, "revision": int(now * 1000), "status": "active", "activity": activity,
        "environment": "outdoor", "name": names.get(activity, "Upper Body A"), "symbol": "figure.run",
        "healthKitActivityType": 37, "mode": "watch", "startedAt": start, "segments": [[start, None]],
        "laps": [start + 900, start + 1850], "units": "metric", "streams": {}, "isLive": True, **changes,
    }


def metrics(user, now, **changes):
    values = {
        "u": user, "s": int(now * 1000), "c": now - 1, "t": 2529, "d": 8310.4, "p": 301, "dp": 345, "h": 142.4, "ha": 139,
        "hx": 171, "k": 612.2, "ks": "estimate", "v": 2.9, "dv": 2.9, "cd": 172, "w": 231, "wa": 222, "ap": 304, "vx": 4.4,
        "sn": 7123, "tm": 2480, "el": 86, "tp": 14, "z": [120, 480, 1130, 700, 100], "pa": False, "lp": 3, "lt": 680,
        "ld": 2210, "n": 2500,
        "ds": {"watch-3f9a": {"c": now - 1, "b": 0.18}, "phone-11aa": {"c": now - 2, "b": 0.64}}, **changes,
    }
    return {key: value for key, value in values.items() if value is not None}


def route(user, now, **changes):
    points = track(95)
    latitude, longitude = points[-1]
    return {
        "u": user, "s": int(now * 1000), "c": now - 1, "d": 8305, "la": latitude, "lo": longitude, "al": 38, "v": 2.9,
        "el": 86, "dl": 80, "pl": [polyline(points)], "n": 2498, **changes,
    }


def weather(now):
    return {
        "revision": int(now * 1000), "observedAt": now, "fetchedAt": now, "temperature": 8.2, "humidity": 0.76,
        "condition": "partlyCloudy", "provider": "open-meteo", "isStale": False,
        "attribution": {"text": "Open-Meteo.com", "url": "https://open-meteo.com"},
    }


def planned(now, phase="work", mode="single", **changes):
    bench = {"name": "Bench Press", "sets": [{"repetitions": 8, "weight": 62.5, "rest": 90}] * 5}
    row = {"name": "Bent-over Row", "sets": [{"repetitions": 10, "weight": 50}] * 4}
    timer = {"block": 0, "type": "stopwatch", "phase": phase, "round": 1, "rounds": 1, "elapsed": 612, "asOf": now}
    if phase == "rest":
        timer["endsAt"] = now + 41.2
    return state(
        "anna", now, "traditionalStrength", timer=timer,
        plan={"name": "Upper Body A", "blocks": [
            {"name": "Main lifts", "timer": {"type": "stopwatch"}, "items": [
                {"id": "1-1", "chosen": 0, "exercises": [bench, {"name": "Dumbbell Press"}]},
                {"id": "1-2", "chosen": 0, "exercises": [row]}]},
            {"name": "Finisher", "timer": {"type": "emom", "rounds": 6, "work": 60}, "items": [
                {"id": "2-1", "chosen": 0, "exercises": [{"name": "Push-up", "sets": [{"repetitions": 12}]}]}]}]},
        progress={
            "item": "1-1", "set": 2, "done": 0, "total": 3, "visits": [{"block": 0, "at": now - 612}], "changes": [],
            "completed": {"1-1": [{"round": 1, "set": number, "at": now - 300 + number} for number in (0, 1)]},
            "skipped": [], "painFlagged": [], "presentationMode": mode},
        **changes)


def current(user, now, **changes):
    return {
        "revision": int(now * 1000), "session": session_of(user), "status": "active", "activity": "running",
        "name": "Outdoor Running", "symbol": "figure.run", "offersResume": True, **changes,
    }


def outdoor(user, now, activity="running", values=(), **changes):
    return [
        (topic(user, "state"), state(user, now, activity, **changes)), (topic(user, "weather"), weather(now)),
        (topic(user, "metrics"), metrics(user, now, **dict(values))), (topic(user, "route"), route(user, now)),
    ]


def live_scenes(now):
    """The states of a live page: name and messages."""
    start = now - 2530
    silent = now - 42
    planned_metrics = (topic("anna", "metrics"), metrics("anna", now, d=None, p=None, dp=None, v=None, dv=None, cd=None))
    return {
        "running": outdoor("anna", now),
        "paused": outdoor("anna", now, status="paused", segments=[[start, now - 20]]),
        "cycling": outdoor("anna", now, "cycling", {"d": 104230, "dp": None, "dv": 7.61}, segments=[[start - 9000, None]]),
        "silent": [
            (topic("anna", "state"), state("anna", now)),
            (topic("anna", "metrics"), metrics("anna", silent)), (topic("anna", "route"), route("anna", silent))],
        "indoor": [(topic("anna", "state"), state("anna", now)), (topic("anna", "metrics"), metrics("anna", now))],
        "countdown": [(topic("anna", "state"), state(
            "anna", now, status="preparing", countdownEndsAt=now + 60, segments=[], laps=[]))],
        "saving": outdoor("anna", now, status="saving", segments=[[start, now - 2]]),
        "completed": outdoor("anna", now, status="completed", segments=[[start, now - 30]], endReason="ended"),
        "canceled": outdoor("anna", now, status="canceled", segments=[[start, now - 90]], endReason="discarded"),
        "notices": [
            *outdoor("anna", now, banner="liveMetricsUnavailable"),
            ("pacebus/v1/services/_metrics-aggregator/a", {
                "at": now, "service": "metrics-aggregator", "shards": "none", "status": "offline", "version": "1"})],
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


RUN = "5d9f6d1e-1f1a-4c58-9a55-3f0c1de0aa10"


def run_topic(name=""):
    return f"pacebus/v1/u/anna/virtual-run/{RUN}{name}"


def run_view(now, statuses, **changes):
    """Anna's view of a run: the others' status or the changes of their rows."""
    participants = [
        {"user": user, "at": now, "startsAt": now - 300, "sharing": {}, **({"session": session_of("anna")} if user == "anna" else {}),
         **(status if isinstance(status, dict) else {"status": status})}
        for user, status in statuses.items()]
    return run_topic(), {
        "run": RUN, "user": "anna", "revision": int(now * 1000), "status": "running", "host": "anna", "start": "together",
        "clock": "active", "countdown": 3, "lateJoin": True, "goal": {"distance": 5000}, "createdAt": now - 400,
        "startsAt": now - 300, "participants": participants, "ghosts": [], **changes}


def run_row(user, **changes):
    return {"u": user, "st": "connected", "a": 1, "d": 1029, "v": 3, "p": 330, "h": 151, "t": 300, "gm": 29, "gs": 9, **changes}


def run_live(now, *rows):
    """Anna's own figures and her partners'."""
    return [
        (topic("anna", "state"), state("anna", now)), (topic("anna", "metrics"), metrics("anna", now, r=RUN, d=1000)),
        (run_topic("/partners"), {"r": RUN, "s": int(now * 1000), "now": now, "pl": 2, "d": 1000, "t": 300, "x": list(rows)})]


def run_scenes(now):
    """The states of a virtual run: name and messages."""
    two = {"anna": "running", "ben": "running"}
    ghost = {"g": 1, "st": "connected", "d": 1003, "p": 300, "gm": 3, "gs": 1}
    finished = {"status": "finished", "finished": {"distance": 5010, "activeDuration": 1563, "pace": 312}}
    results = [
        {"user": "ben", "place": 1, "status": "finished", "time": 1563, "distance": 5010, "pace": 312, "averageHeartRate": 151},
        {"user": "anna", "place": 2, "status": "finished", "time": 1600, "distance": 5000, "pace": 320, "behind": {"seconds": 37},
         "pauses": {"count": 1, "seconds": 30}},
        {"user": "carla", "status": "dnf", "distance": 1000, "environment": "indoor"}]
    return {
        "run-invited": [run_view(now, {"ben": "accepted", "anna": "invited"}, host="ben", status="inviting")],
        "run-ready": [run_view(now, {"anna": "accepted", "ben": "confirmed"}, status="confirming", confirmBy=now + 60)],
        "run-waiting": [run_view(now, {"anna": "confirmed", "ben": "accepted"}, status="confirming", confirmBy=now + 60)],
        "run-countdown": [run_view(
            now, {"anna": {"status": "confirmed", "startsAt": now + 50}, "ben": "confirmed"}, status="starting", startsAt=now + 50)],
        "run-two": [run_view(now, two), *run_live(now, run_row("ben")), (run_topic("/positions"), {
            "r": RUN, "s": int(now * 1000), "now": now, "x": [{"u": "ben", "la": 52.503, "lo": 13.306}]})],
        "run-lanes": [
            run_view(now, {user: "running" for user in USERS}, name="Sunday in the park", ghosts=[{"number": 1, "pace": 300}]),
            *run_live(
                now, run_row("ben"), ghost, run_row("carla", d=950, gm=-50, gs=-14, st="stale", a=10, h=None),
                run_row("dora", d=700, gm=-300, gs=-99, st="disconnected", a=60),
                run_row("emil", d=600, gm=-400, gs=-144, st="paused"))],
        "run-finished": [
            run_view(now, {"anna": "running", "ben": finished}),
            *run_live(now, run_row("ben", st="finished", d=5010, gm=1200, gs=330))],
        "run-lost": [
            run_view(now, two, prompt={"since": now - 195}), *run_live(now, run_row("ben", st="disconnected", a=195))],
        "run-results": [run_view(
            now, {"anna": "finished", "ben": finished, "carla": "left"}, status="finished",
            results={"provisional": True, "rows": results})],
    }


def now():
    return time.time()
