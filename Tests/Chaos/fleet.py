"""Devices of workouts that can be repeated: for upgrade.py and day.py, which have the broker's port as their second argument.

Each session has the same items at the same times whenever it runs, so its results can be compared with those of a quiet run.
"""

import json
import math
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../IntegrationTests"))
from broker_plugin import Client

SESSIONS, RATE, BATCH, LAP, STALL = 12, 4, 500, 40, 5
# The first item's time: a recording, so that a quiet run has the same times.
BEGIN = 1_700_000_000
# Seconds.
LIMIT = 120
# What may differ between two runs.
EXCEPTED = ["revision", "state", "route", "summaries", "weather", "incomplete"]


def identifier(random):
    return f"{random.getrandbits(32):08x}-0000-4000-8000-{random.getrandbits(48):012x}"


def item(kind, session, index):
    number, at = session.number, session.begin + 1 + index
    wave = math.sin((index + 20 * number) / 60)
    if kind == "samples":
        return {"c": at, "h": 140 + round(20 * wave), "d": round(2.8 + wave / 2, 2)}
    latitude, longitude = round(50 + index * 2.5e-5, 6), round(8.6 + wave / 1000, 6)
    return {"c": at, "la": latitude, "lo": longitude, "al": 100 + round(5 * wave), "ac": 5}


class Stream:
    """The items of one kind. One batch with the newest items, and from the last acknowledgement on after a gap or a stall."""

    def __init__(self, kind, session):
        self.kind, self.session, self.topic = kind, session, f"{session.base}/{kind}/watch-1"
        self.count = self.acked = self.sent = 0
        self.gap, self.due, self.acked_at, self.longest = -1, math.inf, time.monotonic(), 0

    def send(self, first):
        last = min(self.count, first + BATCH)
        if first < last:
            items = [item(self.kind, self.session, index) for index in range(first, last)]
            self.session.fleet.publish(self.topic, {"s": first, "x": items, "a": 1})
            self.sent = max(self.sent, last)

    def add(self, count):
        # Later items do not put off the stall of the first one.
        if self.acked == self.count:
            self.acked_at = time.monotonic()
            self.due = self.acked_at + STALL
        self.count += count
        self.send(self.sent)

    def receive(self, n):
        now = time.monotonic()
        if n > self.acked:
            self.longest, self.acked_at = max(self.longest, now - self.acked_at), now
            self.acked, self.due, self.gap = n, now + STALL, -1
            # A quiet run sends as fast as it is acknowledged.
            if n == self.sent:
                self.send(n)
        elif n == self.acked != self.gap:
            self.gap, self.due = n, now + STALL
            self.send(n)

    def step(self, now):
        if self.acked < self.count and now >= self.due:
            self.due = now + STALL
            self.send(self.acked)

    def take_longest(self):
        """The longest time without an acknowledgement since the last call, one that has not ended included."""
        waiting = time.monotonic() - self.acked_at if self.acked < self.count else 0
        longest, self.longest = max(self.longest, waiting), 0
        return longest


class Session:
    """A running session of a user. Sends one command at a time, again after 5 s."""

    def __init__(self, fleet, number):
        self.fleet, self.number, self.user, self.id = fleet, number, f"upgrade-{number:02}", identifier(fleet.random)
        self.base, self.begin = f"pacebus/v1/{self.id[-2:]}/{self.user}/{self.id}", BEGIN
        self.streams = {kind: Stream(kind, self) for kind in ("samples", "locations")}
        self.laps, self.commands, self.sent_at, self.asked_at, self.delays = 0, [], 0, None, []
        self.refusals, self.results = [], {}

    def ask(self, kind, at, **fields):
        self.commands.append(
            {"id": identifier(self.fleet.random), "client": self.fleet.reply, "type": kind, "at": at, **fields}
        )

    def add(self, count):
        for stream in self.streams.values():
            stream.add(count)
        items = self.streams["samples"].count
        while (self.laps + 1) * LAP <= items:
            self.laps += 1
            self.ask("lap", self.begin + self.laps * LAP + 0.5)

    def end(self):
        count = {f"{kind}/watch-1": stream.count for kind, stream in self.streams.items()}
        self.ask("end", self.begin + self.streams["samples"].count + 1, streams=count)

    def step(self, now):
        for stream in self.streams.values():
            stream.step(now)
        if self.commands and (self.asked_at is None or now >= self.sent_at + STALL):
            self.asked_at, self.sent_at = self.asked_at or now, now
            self.fleet.publish(f"{self.base}/command", self.commands[0])

    def reply(self, message):
        if self.commands and message.get("id") == self.commands[0]["id"]:
            if not message["ok"]:
                self.refusals.append(message["error"])
            self.delays.append(time.monotonic() - self.asked_at)
            self.asked_at = None
            del self.commands[0]

    @property
    def is_complete(self):
        """Whether the results cover each other and all items."""
        record, metrics, route = (self.results.get(name) for name in ("workout", "summary/metrics", "summary/route"))
        if (
            not record
            or not metrics
            or not route
            or record.get("incomplete")
            or metrics.get("route") != route["revision"]
        ):
            return False
        expected = {f"{kind}/watch-1": stream.count for kind, stream in self.streams.items()}
        return record["next"] == expected and all(expected[name] == count for name, count in metrics["next"].items())

    @property
    def comparable(self):
        kept = {
            name: {key: value for key, value in result.items() if key not in EXCEPTED}
            for name, result in self.results.items()
        }
        return json.dumps(kept, sort_keys=True).replace(self.id, "session")


class Fleet:
    def __init__(self, random):
        self.random = random
        self.client, self.reply = (
            Client("_simulator", open("data/secrets/_simulator").read().strip()),
            os.urandom(16).hex(),
        )
        self.sessions, self.next, self.is_live = {}, 0, False
        for filter in ("samples/+/ack", "locations/+/ack", "workout", "summary/metrics", "summary/route"):
            self.client.subscribe(f"pacebus/v1/+/+/+/{filter}")
        self.client.subscribe(f"pacebus/v1/u/+/replies/{self.reply}")

    def publish(self, topic, payload):
        self.client.socket.sendall(self.client.publish_packet(topic, json.dumps(payload).encode(), 1))

    def begin(self):
        self.sessions = {session.id: session for session in (Session(self, number) for number in range(SESSIONS))}
        for session in self.sessions.values():
            session.ask("start", session.begin, activity="running", countdown=0)
        self.until(lambda: not any(session.commands for session in self.sessions.values()), "all sessions are started")

    def step(self):
        now = time.monotonic()
        if self.is_live and now >= self.next:
            self.next = max(self.next + 1 / RATE, now - 1)
            for session in self.sessions.values():
                session.add(1)
        for session in self.sessions.values():
            session.step(now)
        self.client.read(0.01)
        assert self.client.socket, "the broker disconnected the devices"
        messages, self.client.messages = self.client.messages, []
        for topic, payload, _ in messages:
            self.receive(topic.split("/"), json.loads(payload or b"{}"))

    def receive(self, topic, message):
        if topic[2] == "u":
            for session in self.sessions.values():
                if session.user == topic[3]:
                    session.reply(message)
        elif topic[4] in self.sessions:
            session, rest = self.sessions[topic[4]], "/".join(topic[5:])
            if topic[-1] == "ack":
                session.streams[topic[5]].receive(message.get("n", -1))
            elif message:
                session.results[rest] = message

    def until(self, condition, what):
        end, due = time.monotonic() + LIMIT, 0
        while True:
            self.step()
            now = time.monotonic()
            if now >= due:
                if condition():
                    return
                due = now + 0.2
            assert now < end, f"after {LIMIT} s not so: {what}"

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()

    def finish(self):
        """Ends all sessions and returns their results."""
        self.is_live = False
        for session in self.sessions.values():
            session.end()
        self.until(lambda: all(session.is_complete for session in self.sessions.values()), "all workouts are complete")
        return [session.comparable for session in self.sessions.values()]
