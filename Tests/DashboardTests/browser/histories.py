"""Histories as session-engine answers them: overviews of years, and the requests `workouts` with `changedAfter`."""

import datetime
import math
import random
import uuid

from fixtures import polyline

DAY = 86_400
# Wed 18 Nov 2026, 12:00 in Berlin.
ZONE = "Europe/Berlin"
KINDS = [
    ("running", "Outdoor Running", 2.9, 0.55),
    ("cycling", "Outdoor Cycling", 7.6, 0.25),
    ("swimming", "Pool Swimming", 0.9, 0.08),
    ("traditionalStrength", "Upper Body A", None, 0.07),
    ("hiking", "Hiking", 1.2, 0.05),
]
FOOT = [400, 1000, 1609.344, 5000, 10000, 21097.5, 42195]
RIDES = [5000, 20000, 40000, 100000]
SWIMS = [100, 400, 1500]


def sketch(random):
    """A loop of 48 points."""
    latitude, longitude = 52.5 + random.uniform(-0.05, 0.05), 13.35 + random.uniform(-0.05, 0.05)
    turns = [random.uniform(0.1, 0.4) for _ in range(3)]
    points = []
    for index in range(48):
        angle = 2 * math.pi * index / 47
        radius = 0.01 * (1 + sum(turn * math.sin((2 + n) * angle + n) for n, turn in enumerate(turns)))
        points.append((latitude + radius * math.sin(angle), longitude + 1.6 * radius * math.cos(angle)))
    return polyline(points)


def overview(number, startedAt, random, changed):
    activity, name, speed, _ = random.choices(KINDS, [kind[3] for kind in KINDS])[0]
    duration = round(random.uniform(1200, 7200), 1)
    workout = {
        "session": str(uuid.uuid5(uuid.NAMESPACE_URL, f"history {number}")),
        "name": name,
        "activity": activity,
        "environment": "indoor" if activity in ("swimming", "traditionalStrength") else "outdoor",
        "startedAt": startedAt,
        "endedAt": startedAt + duration + 60,
        "timeZone": ZONE,
        "activeDuration": duration,
        "elapsedDuration": duration + 60,
        "averageHeartRate": round(random.uniform(115, 165), 1),
        "changed": changed,
    }
    if speed:
        workout["distance"] = round(duration * speed * random.uniform(0.85, 1.15), 1)
    load = {"heartRate": round(duration / 60 * random.uniform(0.8, 2.0), 1)}
    bests = {}
    if activity in ("running", "hiking", "cycling"):
        workout["ascent"] = round(random.uniform(5, 60) * duration / 3600, 1)
        workout["sketch"] = sketch(random)
    if speed:
        pace = duration / workout["distance"]
        marks = {"running": FOOT, "hiking": FOOT, "cycling": RIDES, "swimming": SWIMS}[activity]
        bests["distance"] = [
            {"m": m, "s": round(m * pace * (0.9 + 0.1 * m / workout["distance"]), 1), "t": 10}
            for m in marks
            if m <= workout["distance"]
        ]
    if activity == "cycling":
        load["stress"] = round(duration / 36 * random.uniform(0.4, 0.9), 1)
        bests["power"] = [
            {"s": s, "w": round(random.uniform(180, 320) * (1 + 90 / (s + 60)), 1), "t": 60}
            for s in (5, 60, 300, 1200, 3600)
            if s <= duration
        ]
    if activity == "traditionalStrength":
        bests["sets"] = [
            {"exercise": exercise, "weight": 2.5 * random.randint(16, 48), "repetitions": random.randint(1, 8)}
            for exercise in ("Back Squat", "Bench Press")
        ]
    bests = {kind: values for kind, values in bests.items() if values}
    return {**workout, "load": load, **({"bests": bests} if bests else {})}


def years(count, now, seed=7):
    """As many workouts, about eleven a week, the oldest first."""
    generator = random.Random(seed)
    step = 7 * DAY / 11
    return [
        overview(
            number, round(now - (count - number) * step + generator.uniform(0, 0.8) * step), generator, 1000 + number
        )
        for number in range(count)
    ]


class Engine:
    """Answers `workouts` as session-engine does: pages, or the changes after a cursor."""

    def __init__(self, workouts, size=100):
        self.workouts = {workout["session"]: dict(workout) for workout in workouts}
        self.deleted, self.size, self.cursors = {}, size, []
        self.latest = max((workout["changed"] for workout in workouts), default=0)
        self.forgotten = 0

    def answer(self, _, press):
        if "changedAfter" in press:
            return self.changes(press["changedAfter"])
        newest = sorted(self.workouts.values(), key=lambda each: (-each["startedAt"], each["session"]))
        before = press.get("before")
        rest = [each for each in newest if not before or each["startedAt"] < before["at"]]
        page = rest[: press.get("limit", 20)]
        if len(rest) == len(page):
            return {"workouts": page}
        return {"workouts": page, "next": {"at": page[-1]["startedAt"], "session": page[-1]["session"]}}

    def changes(self, cursor):
        self.cursors.append(cursor)
        changed, since = (cursor["changed"], cursor["since"]) if isinstance(cursor, dict) else (cursor, cursor)
        is_known = since == 0 or self.forgotten <= since <= self.latest
        if not is_known:
            changed = 0
        entries = [*self.workouts.values()]
        entries += [{"session": session, "deleted": True, "changed": at} for session, at in self.deleted.items()]
        rest = sorted((each for each in entries if each["changed"] > changed), key=lambda each: each["changed"])
        page, has_more = rest[: self.size], len(rest) > self.size
        reply = {"changes": page, "next": self.latest}
        if has_more:
            last = page[-1]["changed"]
            since = self.latest if changed == 0 else since
            reply |= {"more": True, "next": {"changed": last, "since": since, "latest": self.latest}}
        return reply if is_known else {**reply, "reset": True}

    def change(self, session, **fields):
        self.latest += 1
        self.workouts[session] = {
            **self.workouts.get(session, {}),
            **fields,
            "session": session,
            "changed": self.latest,
        }

    def delete(self, session):
        self.latest += 1
        del self.workouts[session]
        self.deleted[session] = self.latest

    def forget(self):
        """Deletes everything: all cursors are reset."""
        self.workouts, self.deleted = {}, {}
        self.latest += 1
        self.forgotten = self.latest


def load_lines(workouts, key, today):
    """Fitness, fatigue and form of today, computed day by day from the formula; `today` is a date in Berlin."""
    from zoneinfo import ZoneInfo

    zone = ZoneInfo(ZONE)
    sums = {}
    for workout in workouts:
        if key in workout.get("load", {}):
            day = datetime.datetime.fromtimestamp(workout["startedAt"], zone).date()
            sums[day] = sums.get(day, 0) + workout["load"][key]
    if not sums:
        return None
    long = short = form = 0.0
    day = min(sums)
    while day <= today:
        form = long - short
        long += (sums.get(day, 0) - long) * (1 - math.exp(-1 / 42))
        short += (sums.get(day, 0) - short) * (1 - math.exp(-1 / 7))
        day += datetime.timedelta(days=1)
    return long, short, form
