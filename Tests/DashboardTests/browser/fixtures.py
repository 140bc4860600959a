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


def now():
    return time.time()
