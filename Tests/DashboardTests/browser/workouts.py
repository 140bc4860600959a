"""Finished workouts as the services publish them: record, summaries, and chunks of series and track."""

import json
import math
import random
import uuid

from fixtures import polyline

# Sat 21 Nov 2026, 06:15 in Berlin.
START = 1795238100.0
ROWS = 512


def topic(user, session, name):
    return f"pacebus/v1/{session[-2:]}/{user}/{session}/{name}"


def session_of(name):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def winding(count, step):
    """Metres of a winding loop as places, with their heights."""
    places = []
    for index in range(count):
        part = index * step
        angle = 2 * math.pi * part / 5200
        radius = 640 + 170 * math.sin(3 * angle + 0.6) + 90 * math.sin(5 * angle)
        grow = 1 + 0.1 * part / 5200
        latitude = 52.5145 + radius * grow * math.cos(angle) / 111_200
        longitude = 13.3501 + radius * grow * math.sin(angle) / 67_700
        places.append((latitude, longitude))
    return places


def chunks(columns, revision):
    """The columns as chunks of 512 rows."""
    count = len(columns["c"])
    of = -(-count // ROWS)
    for n in range(of):
        rows = slice(n * ROWS, (n + 1) * ROWS)
        yield {
            "revision": revision,
            "n": n,
            "of": of,
            "columns": {
                key: values[rows] for key, values in columns.items() if any(v is not None for v in values[rows])
            },
        }


class Workout:
    """One with all that pages read. `record`, `series` and `track` may be changed before it is published."""

    def __init__(self, seed, user="anna", series=None, track=None, **record):
        self.user, self.session = user, session_of(seed)
        self.revision = int((START + 9000) * 1000)
        self.series, self.track = series, track
        kinds = {"metrics": series, "route": track}
        self.record = {
            "session": self.session,
            "user": user,
            "revision": self.revision,
            "environment": "outdoor",
            "mode": "watch",
            "startedAt": START,
            "timeZone": "Europe/Berlin",
            "splits": [],
            "laps": [],
            "next": {},
            "summaries": {kind: self.revision - 5 for kind, columns in kinds.items() if columns},
            **record,
        }
        segments = self.record["segments"]
        self.record.setdefault("endedAt", segments[-1][1])
        self.record.setdefault("activeDuration", sum(end - start for start, end in segments))
        self.record.setdefault("elapsedDuration", segments[-1][1] - segments[0][0])

    @property
    def path(self):
        return f"/workout/{self.user}/{self.session}"

    def topic(self, name):
        return topic(self.user, self.session, name)

    def state(self, **changes):
        record = self.record
        return self.topic("state"), {
            "session": self.session,
            "user": self.user,
            "revision": self.revision,
            "status": "completed",
            "allowed": ["update"],
            "activity": record["activity"],
            "environment": record["environment"],
            "name": record["name"],
            "symbol": "figure.run",
            "healthKitActivityType": 37,
            "mode": "watch",
            "startedAt": record["startedAt"],
            "endedAt": record["endedAt"],
            "segments": record["segments"],
            "laps": [],
            "units": "metric",
            "streams": {},
            **changes,
        }

    def messages(self):
        """What the broker retains."""
        return [self.state(), (self.topic("workout"), self.record)]

    def answers(self, shift=0):
        """What the owners publish when they are asked for chunks; of another revision with a shift."""
        revision = self.revision - 5
        found = []
        for kind, name, columns in [("metrics", "series", self.series), ("route", "track", self.track)]:
            if not columns:
                continue
            parts = list(chunks(columns, revision + shift))
            summary = {"revision": revision, "state": self.revision, "chunks": len(parts), "gaps": [], "next": {}}
            found.append((self.topic(f"summary/{kind}"), {"splits": [], "laps": [], "polyline": [], **summary}))
            found += [(self.topic(f"{name}/{part['n']}"), part) for part in parts]
        return found

    def overview(self, **changes):
        keys = ["session", "name", "activity", "environment", "startedAt", "endedAt", "timeZone", "activeDuration"]
        keys += ["distance", "activeEnergy", "averageHeartRate", "bests"]
        return {key: self.record[key] for key in keys if key in self.record} | changes


def mean(values):
    values = [value for value in values if value is not None]
    return round(sum(values) / len(values), 1)


def splits_of(length, metres, times, **columns):
    """Whole splits and the rest of rising metres."""
    splits, first = [], 0
    for index, value in enumerate(metres):
        isLast = index == len(metres) - 1
        if value < length * (len(splits) + 1) and not isLast:
            continue
        rows = slice(first, index + 1)
        distance = min(length, value - length * len(splits))
        duration = times[index] - times[first]
        first = index
        if distance < 1:
            continue
        split = {"distance": round(distance, 1), "duration": round(duration, 1)}
        split |= {key: mean(values[rows]) for key, values in columns.items()}
        splits.append(split | {"pace": round(duration / distance * 1000, 1)})
    return splits


def run(seed="run", seconds=3600, pause=(1500, 95), standing=0, **changes):
    """A run of an hour over hills, with a pause, two laps and a strap that ended before; first it drifts for some seconds."""
    chance = random.Random(7)
    seconds_of = range(seconds)
    speeds, rates, heights = [], [], []
    rate = 96.0
    for t in seconds_of:
        hill = math.sin(t / 260) + 0.5 * math.sin(t / 97)
        interval = 0.55 if 2000 < t < 2900 and (t // 150) % 2 == 0 else 0
        speed = 2.78 - 0.24 * math.cos(t / 260) + interval + 0.12 * math.sin(t / 31) + chance.uniform(-0.05, 0.05)
        speeds.append(0.275 if t < standing else speed)
        rate += (118 + 14 * speed + 3 * math.cos(t / 260) - rate) / 40
        rates.append(round(rate + chance.uniform(-0.8, 0.8)))
        heights.append(round(58 + 16 * hill + chance.uniform(-0.2, 0.2), 1))
    metres = []
    for speed in speeds:
        metres.append((metres[-1] if metres else 0) + speed)
    at, wait = pause
    times = [START + t + (wait if t >= at else 0) for t in seconds_of]
    series = {
        "c": times,
        "h": rates,
        "d": [round(speed, 3) for speed in speeds],
        "cd": [round(168 + 6 * (speed - 2.8) + chance.uniform(-2, 2)) for speed in speeds],
        "al": heights,
    }
    places = winding(4000, 3.0)
    spots = [places[min(3999, int(value / 3))] for value in metres]
    track = {
        "c": times,
        "la": [round(latitude, 6) for latitude, _ in spots],
        "lo": [round(longitude, 6) for _, longitude in spots],
        "al": heights,
        "v": [round(speed, 2) for speed in speeds],
        "d": [round(value, 1) for value in metres],
    }
    climbs = [max(0, heights[index] - heights[max(0, index - 60)]) / 60 for index in seconds_of]
    record = {
        "activity": "running",
        "name": "Morning Run",
        "segments": [[START, START + at - 1], [START + at + wait, START + seconds + wait - 1]],
        "distance": round(metres[-1], 1),
        "activeEnergy": 742.0,
        "energySource": "estimate",
        "averageHeartRate": mean(rates),
        "maximumHeartRate": max(rates),
        "averageSpeed": metres[-1] / seconds,
        "maximumSpeed": max(speeds),
        "averageCadence": 168.4,
        "ascent": round(sum(climbs) / 3),
        "descent": round(sum(climbs) / 3) - 4,
        "steps": 10_104,
        "movingDuration": seconds - 20.0,
        "zones": [150, 640, 1820, 900, 90],
        "splits": splits_of(1000, metres, list(seconds_of), averageHeartRate=rates, averageCadence=series["cd"]),
        "laps": [
            {
                "startedAt": START,
                "endedAt": START + 1499,
                "duration": 1499,
                "distance": 4190.0,
                "averageHeartRate": 151,
            },
            {
                "startedAt": START + at + wait,
                "endedAt": START + seconds + wait - 1,
                "duration": 2099,
                "distance": round(metres[-1] - 4190, 1),
                "averageHeartRate": 160,
            },
        ],
        "polyline": [polyline(spots[::20])],
        "bests": {
            "distance": [
                {"m": 400, "s": 118.2, "t": 2105.0},
                {"m": 1000, "s": 318.4, "t": 2110.0},
                {"m": 1609.344, "s": 541.0, "t": 2010.0},
                {"m": 5000, "s": 1748.3, "t": 1620.0},
                {"m": 10000, "s": 3604.7, "t": 40.0},
            ],
            "heartRate": [{"s": 1200, "bpm": 161.2, "t": 2010.0}],
        },
        "load": {"heartRate": 84.1},
        "sources": [
            {"quantity": "heart_rate", "device": "strap-1f", "from": 0, "to": 1930.0},
            {"quantity": "heart_rate", "device": "watch-3f9a", "from": 1931.0, "to": seconds},
            {"quantity": "distance", "device": "watch-3f9a", "from": 0, "to": seconds},
            {"quantity": "cadence", "device": "watch-3f9a", "from": 0, "to": seconds},
        ],
        "outside": {"samples/watch-3f9a": 95, "locations/watch-3f9a": 94},
        "weather": {"temperature": 8.2, "humidity": 0.76, "condition": "cloudy"},
    }
    return Workout(seed, series=series, track=track, **{**record, **changes})


def earlier_runs():
    """Overviews of the history: the run is faster than these over 1 km and 5 km, and no longer."""
    bests = {
        "distance": [
            {"m": 400, "s": 110.0, "t": 0},
            {"m": 1000, "s": 330.5, "t": 0},
            {"m": 1609.344, "s": 530.0, "t": 0},
            {"m": 5000, "s": 1790.0, "t": 0},
        ]
    }
    return [
        run(f"earlier {index}").overview(startedAt=START - 86400 * index, distance=14_000.0, bests=bests)
        for index in (1, 2, 3)
    ]


def ride():
    """A ride of 70 minutes with power, in which the devices tell no cadence."""
    base = run("ride", seconds=4200, pause=(2400, 240))
    chance = random.Random(9)
    watts = [round(max(0, 205 + 60 * math.sin(t / 180) + chance.uniform(-35, 35))) for t in range(4200)]
    speeds = [8.2 + 1.4 * math.sin(t / 180) for t in range(4200)]
    metres = [sum(speeds[:1])]
    for speed in speeds[1:]:
        metres.append(metres[-1] + speed)
    places = winding(12_000, 3.0)
    spots = [places[min(11_999, int(value / 3))] for value in metres]
    series = {**base.series, "d": [round(speed, 3) for speed in speeds], "w": watts}
    del series["cd"]
    track = {
        **base.track,
        "la": [round(place[0], 6) for place in spots],
        "lo": [round(place[1], 6) for place in spots],
        "d": [round(value, 1) for value in metres],
    }
    record = {key: base.record[key] for key in ("segments", "averageHeartRate", "maximumHeartRate", "zones")}
    return Workout(
        "ride",
        series=series,
        track=track,
        **record,
        activity="cycling",
        name="Grunewald Loop",
        distance=round(metres[-1], 1),
        averageSpeed=metres[-1] / 4200,
        maximumSpeed=max(speeds),
        ascent=312,
        averagePower=mean(watts),
        maximumPower=max(watts),
        activeEnergy=861,
        energySource="device",
        polyline=[polyline(spots[::20])],
        splits=splits_of(5000, metres, list(range(4200)), averageHeartRate=base.series["h"], averagePower=watts),
        bests={
            "distance": [{"m": 5000, "s": 598.0, "t": 240.0}, {"m": 20000, "s": 2440.2, "t": 900.0}],
            "power": [
                {"s": 5, "w": 298.0, "t": 300.0},
                {"s": 60, "w": 265.5, "t": 285.0},
                {"s": 300, "w": 241.4, "t": 200.0},
            ],
        },
        load={"heartRate": 92.4, "normalizedPower": 218.0, "intensity": 0.82, "stress": 71.3},
    )


def swim():
    """Forty lengths of 25 m in a pool, with a rest."""
    times, lengths, strokes, rates = [], [], [], []
    t = 0.0
    chance = random.Random(3)
    for length in range(60):
        t += 27 + 2 * math.sin(length / 5) + chance.uniform(-1, 1)
        times.append(START + t + (60 if length >= 30 else 0))
        lengths.append(1)
        strokes.append(round(17 + 2 * math.sin(length / 7)))
        rates.append(round(132 + 12 * math.sin(length / 9)))
    half = times[29]
    return Workout(
        "swim",
        series={"c": times, "ln": lengths, "st": strokes, "h": rates},
        activity="swimming",
        environment="indoor",
        name="Pool Swimming",
        segments=[[START, half], [half + 60, times[-1]]],
        distance=1500.0,
        averageHeartRate=mean(rates),
        maximumHeartRate=max(rates),
        averageSpeed=1500 / t,
        activeEnergy=402,
        energySource="device",
        zones=[300, 900, 430, 0, 0],
        sums={"lengths": 60, "strokes": sum(strokes)},
        splits=splits_of(
            100,
            [25 * (n + 1) for n in range(60)],
            [value - START - (60 if value > half else 0) for value in times],
            averageHeartRate=rates,
        ),
        bests={"distance": [{"m": 100, "s": 104.1, "t": 300.0}, {"m": 400, "s": 441.0, "t": 300.0}]},
    )


def strength():
    """Indoors with a plan, sets of other repetitions and loads than planned, a swap and a skipped exercise."""
    seconds = 2700
    chance = random.Random(5)
    rates = [round(104 + 22 * math.sin(t / 70) + 6 * math.sin(t / 17) + chance.uniform(-2, 2)) for t in range(seconds)]
    bench = {"name": "Bench Press", "sets": [{"repetitions": 8, "weight": 62.5, "rest": 90}] * 4}
    row = {"name": "Bent-over Row", "sets": [{"repetitions": 10, "weight": 50}] * 3}
    push = {"name": "Push-up", "sets": [{"repetitions": 12}]}

    def sets(planned, reported):
        return [
            {
                **{key: value for key, value in planned.items() if key != "rest"},
                **changes,
                "round": 1,
                "set": number,
                "at": START + 200 + 150 * number,
            }
            for number, changes in enumerate(reported)
        ]

    return Workout(
        "strength",
        series={"c": [START + t for t in range(seconds)], "h": rates},
        activity="traditionalStrength",
        environment="indoor",
        name="Upper Body A",
        segments=[[START, START + seconds]],
        averageHeartRate=mean(rates),
        maximumHeartRate=max(rates),
        activeEnergy=312,
        energySource="mixed",
        zones=[900, 1200, 560, 40, 0],
        plan={
            "name": "Upper Body A",
            "blocks": [
                {
                    "name": "Main lifts",
                    "timer": {"type": "stopwatch"},
                    "items": [
                        {"id": "1-1", "chosen": 0, "exercises": [bench, {"name": "Dumbbell Press"}]},
                        {
                            "id": "1-2",
                            "chosen": 1,
                            "exercises": [row, {"name": "Cable Row", "sets": [{"repetitions": 10, "weight": 45}] * 3}],
                        },
                    ],
                },
                {
                    "name": "Finisher",
                    "timer": {"type": "emom", "rounds": 3, "work": 60},
                    "items": [
                        {"id": "2-1", "chosen": 0, "exercises": [push]},
                        {"id": "2-2", "chosen": 0, "exercises": [{"name": "Plank", "sets": [{"time": 40}]}]},
                    ],
                },
            ],
        },
        progress={
            "item": "2-1",
            "done": 3,
            "total": 3,
            "visits": [{"block": 0, "at": START}],
            "changes": [],
            "completed": {
                "1-1": sets(bench["sets"][0], [{}, {}, {"repetitions": 7}, {"weight": 65, "repetitions": 5}]),
                "1-2": sets({"repetitions": 10, "weight": 45, "exercise": 1}, [{}, {}, {}]),
                "2-1": [{"round": n, "set": 0, "repetitions": 12, "at": START + 2400 + 60 * n} for n in (1, 2, 3)],
            },
            "skipped": ["2-2"],
            "painFlagged": ["1-2"],
            "presentationMode": "workout",
        },
        rounds=[
            {"block": 1, "number": n, "startedAt": START + 2400 + 60 * (n - 1), "endedAt": START + 2400 + 60 * n}
            for n in (1, 2, 3)
        ],
        bests={
            "sets": [
                {"exercise": "Bench Press", "weight": 65, "repetitions": 5},
                {"exercise": "Push-up", "repetitions": 12},
            ]
        },
        sources=[{"quantity": "heart_rate", "device": "watch-3f9a", "from": 0, "to": seconds}],
    )


def treadmill():
    """Without a route."""
    made = run("treadmill", environment="indoor", name="Treadmill", polyline=[])
    made.track = None
    del made.series["al"], made.record["summaries"]["route"], made.record["ascent"], made.record["descent"]
    return made


def empty():
    """Nothing was measured."""
    return Workout("empty", activity="other", environment="indoor", name="Other", segments=[[START, START + 754]])


def export(workout, target, status, **changes):
    return workout.topic(f"export/{target}"), {
        "session": workout.session,
        "user": workout.user,
        "target": target,
        "revision": workout.revision,
        "status": status,
        "workout": workout.revision,
        "attempts": 0,
        **changes,
    }


def profile(workout, **changes):
    """Of the user: limits of the zones."""
    return f"pacebus/v1/u/{workout.user}/profile", {
        "revision": workout.revision,
        "units": "metric",
        "maximumHeartRate": 186,
        **changes,
    }


def answer_chunks(world, *workouts, shift=0):
    """Plays the owners: publishes the chunks of a workout when a page asks for them."""
    by_session = {workout.session: workout for workout in workouts}

    def answer(topic, request):
        levels = topic.split("/")
        session = request.get("session") or levels[4]
        workout = by_session.get(session.lower())
        if workout:
            messages = workout.answers(shift)
            # Chunks are not retained.
            for topic, payload in messages:
                world.client.publish(topic, json.dumps(payload), qos=1)

    world.answers["chunks"] = answer
