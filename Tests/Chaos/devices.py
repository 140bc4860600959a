"""Devices that send while something is attacked, and the checks of what they get: for replicas.py and failover.py.

Runs in the folder of an installation, after compose/chaos has started it, with the broker's port as the second argument.
"""

import bisect
import collections
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../IntegrationTests"))
from broker_plugin import PORT, Client

SESSIONS, RATE, LAP_INTERVAL, REPEAT = 48, 5, 15, 5
LOG = "data/log/devices.log"
STREAMS = {"metrics-aggregator": 0, "route-builder": 1}
RETAINED = tuple(
    "+/+/+/" + topic
    for topic in (
        "state",
        "profile",
        "metrics",
        "route",
        "weather",
        "activity",
        "heard/+",
        "summary/+",
        "workout",
        "export/+",
    )
)
USERS = tuple("u/+/" + topic for topic in ("current", "profile", "plans"))
# What may differ from run to run, by rule 3 of the design.
EXCEPTED = ("revision", "state", "route", "summaries", "weather", "incomplete")


def numbers():
    return [index * (256 // SESSIONS) for index in range(SESSIONS)]


def base(number):
    return f"pacebus/v1/{number & 255:02x}/bench-{number:06d}/00000000-0000-4000-8000-{number:012x}"


def password(name):
    return open(f"data/secrets/{name}").read().strip()


def clock():
    """The time as in the logs."""
    return time.strftime("%H:%M:%S", time.gmtime())


class Observer:
    """Reads retained topics as an operator. `flaws` has each lower revision and each cleared topic."""

    def __init__(self):
        self.client = Client("_operator", password("_operator"))
        self.revisions, self.latest, self.flaws, self.count = {}, {}, [], 0
        for topic in (*RETAINED, *USERS):
            self.client.subscribe(f"pacebus/v1/{topic}")

    def read(self, seconds):
        self.client.read(seconds)
        assert self.client.socket, "the broker disconnected the observer"
        messages, self.client.messages = self.client.messages, []
        for topic, payload, _ in messages:
            self.count += 1
            if not payload:
                self.flaws.append(f"{clock()} {topic} was cleared")
                continue
            message = json.loads(payload)
            revision, highest = message.get("revision", message.get("s")), self.revisions.get(topic, 0)
            if revision < highest:
                self.flaws.append(f"{clock()} {topic} went back from {highest} to {revision}")
            else:
                self.revisions[topic], self.latest[topic] = revision, message


class Commands:
    """Sends commands to sessions, one of each session at a time, and repeats each until its reply."""

    def __init__(self, chance):
        self.chance, self.me = chance, os.urandom(8).hex()
        self.client, self.pending, self.delays, self.refused = Client("_simulator", password("_simulator")), {}, [], []
        self.client.subscribe(f"pacebus/v1/u/+/replies/{self.me}")

    def send(self, number, **command):
        command |= {"id": f"{self.chance.getrandbits(32):08x}-0000-4000-8000-{number:012x}", "client": self.me}
        self.pending[command["id"]] = [base(number) + "/command", json.dumps(command).encode(), time.monotonic(), 0]

    def step(self):
        now = time.monotonic()
        for entry in self.pending.values():
            if now >= entry[3]:
                entry[3] = now + REPEAT
                self.client.socket.sendall(self.client.publish_packet(entry[0], entry[1], 1))
        self.client.read(0)
        assert self.client.socket, "the broker disconnected the sender of commands"
        messages, self.client.messages = self.client.messages, []
        for topic, payload, _ in messages:
            reply = json.loads(payload)
            entry = self.pending.pop(reply["id"], None)
            if entry:
                self.delays.append(time.monotonic() - entry[2])
                if not reply["ok"]:
                    self.refused.append(f"{entry[0]}: {reply['error']}")


class Devices:
    """The sessions of a run: their devices' process, their laps, their acknowledgements and results."""

    def __init__(self, seed, seconds):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.observer, self.commands = Observer(), Commands(random.Random(seed + 1))
        # Each item is a second of its session, so that the session begins in the past.
        self.origin, self.laps, self.items = int(time.time() - RATE * seconds - 300) * 1000, [], 0
        self.process = self.launch("--sessions", SESSIONS, "--acks", "data/log/acks")
        self.began = time.monotonic()
        self.lap_due = self.began + LAP_INTERVAL

    def launch(self, *options):
        """Starts devices and returns when their sessions have started."""
        with open(LOG, "w") as log:
            process = subprocess.Popen(
                [
                    "setpriv",
                    "--pdeathsig",
                    "TERM",
                    "data/devices",
                    "--port",
                    str(PORT),
                    "--origin",
                    str(self.origin),
                    "--user",
                    "_simulator",
                    "--password-file",
                    "data/secrets/_simulator",
                    *map(str, options),
                ],
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 60
        while "started=" not in open(LOG).read():
            assert process.poll() is None and time.monotonic() < end, f"the sessions did not start: {open(LOG).read()}"
            self.step(0.05)
        return process

    def step(self, seconds=0.02):
        self.observer.read(seconds)
        self.commands.step()

    def run(self, seconds=0, until=None):
        """Reads and sends laps for a time, or until a condition holds. Returns whether it holds."""
        end = time.monotonic() + seconds
        while not (until and until()):
            if time.monotonic() >= end:
                return until is None
            self.step()
            assert self.process.poll() is None, f"the devices ended: {open(LOG).read()}"
            if time.monotonic() >= self.lap_due and not self.commands.pending:
                self.lap_due = time.monotonic() + LAP_INTERVAL
                # Between two items, the same for all sessions.
                self.laps.append(self.origin / 1000 + int((time.monotonic() - self.began) * RATE) + 0.5)
                for number in numbers():
                    self.commands.send(number, type="lap", at=self.laps[-1])
        return True

    def finish(self):
        """Ends the sessions; returns what they miss: acknowledgements, commands, or a result like that of a calm session."""
        self.process.send_signal(signal.SIGUSR1)
        flaws = self.outcome(self.process, SESSIONS) + self.settle_commands()
        calm = self.launch("--sessions", 1, "--first", 1000, "--items", self.items)
        flaws += self.outcome(calm, 1)
        for at in self.laps:
            self.commands.send(1000, type="lap", at=at)
            flaws += self.settle_commands()
        for number in numbers() + [1000]:
            counts = {f"{kind}/watch-bench": self.items for kind in ("samples", "locations")}
            self.commands.send(number, type="end", at=self.origin / 1000 + self.items, streams=counts)
        flaws += self.settle_commands()
        end = time.monotonic() + 120
        while (missing := [n for n in numbers() + [1000] if not self.results(n)]) and time.monotonic() < end:
            self.step(0.05)
        if missing:
            return flaws + [f"{len(missing)} of {SESSIONS + 1} sessions have no complete workout"]
        expected = self.results(1000)
        return (
            flaws
            + [
                f"bench-{number:06d} differs from the calm session"
                for number in numbers()
                if self.results(number) != expected
            ]
            + self.commands.refused
        )

    def outcome(self, process, sessions):
        """Waits for the end of devices; returns what is missing."""
        end = time.monotonic() + 150
        while process.poll() is None and time.monotonic() < end:
            self.step()
        text = open(LOG).read()
        if process.poll() != 0:
            process.kill()
            return [f"the devices did not finish: {text.strip()}"]
        fields = dict(part.split("=", 1) for part in text.split())
        self.items = int(fields["items"])
        count = 2 * sessions * self.items
        print(
            f"{count} items sent, {count - int(fields['lost'])} acknowledged, {fields['repeated']} batches sent again",
            flush=True,
        )
        return [f"{fields['lost']} items have no acknowledgement"] * (fields["lost"] != "0")

    def settle_commands(self):
        end = time.monotonic() + 60
        while self.commands.pending and time.monotonic() < end:
            self.step()
        return [f"{len(self.commands.pending)} commands have no reply"] * bool(self.commands.pending)

    def results(self, number):
        """The final record and totals of a session, without what may differ; nothing while they are incomplete."""
        workout, metrics, route = (
            self.observer.latest.get(f"{base(number)}/{topic}")
            for topic in ("workout", "summary/metrics", "summary/route")
        )
        streams = ("samples/watch-bench", "locations/watch-bench")
        if (
            not (workout and metrics and route)
            or workout.get("incomplete")
            or metrics.get("route") != route["revision"]
        ):
            return None
        if any(workout["next"].get(name) != self.items for name in streams):
            return None
        own = base(number).split("/")
        return [
            json.dumps({key: value for key, value in part.items() if key not in EXCEPTED}, sort_keys=True)
            .replace(own[3], "user")
            .replace(own[4], "session")
            for part in (workout, metrics, route)
        ]


class Gaps:
    """The times at which the acknowledgements of each stream advanced."""

    def __init__(self):
        self.times = collections.defaultdict(list)
        for line in open("data/log/acks"):
            at, number, kind, _ = line.split()
            self.times[int(number), int(kind)].append(float(at))

    def longest(self, number, kind, since, until):
        """The longest time from an acknowledgement to the next, of those that end after `since` and begin before `until`."""
        times = self.times[number, kind]
        first = max(bisect.bisect_right(times, since) - 1, 0)
        last = bisect.bisect_right(times, until)
        found = times[first : last + 1]
        return max((b - a for a, b in zip(found, found[1:])), default=float("inf"))


def quantile(values, part):
    return sorted(values)[min(int(part * len(values)), len(values) - 1)]


def row(name, faults, gaps, goal=None):
    """Prints a line of the table of gaps; returns the flaw if p99 misses its goal."""
    if not gaps:
        print(f"{name:28} {faults:6} {0:10}", flush=True)
        return []
    p50, p99, worst = quantile(gaps, 0.5), quantile(gaps, 0.99), max(gaps)
    print(
        f"{name:28} {faults:6} {len(gaps):10} {p50:7.2f} {p99:7.2f} {worst:7.2f}"
        + (f"   p99 < {goal} s" if goal else ""),
        flush=True,
    )
    return [f"{name}: p99 {p99:.2f} s, goal < {goal} s"] * bool(goal and p99 >= goal)


def conclude(devices, flaws):
    """Prints the replies to commands and the broken promises; writes data/met without one."""
    delays, flaws = devices.commands.delays, flaws + devices.observer.flaws
    if delays:
        print(
            f"{len(delays)} commands: reply after {quantile(delays, 0.5):.2f} s p50, {quantile(delays, 0.99):.2f} s p99, "
            f"{max(delays):.2f} s worst"
        )
    print(f"{devices.observer.count} retained messages observed, {len(devices.observer.flaws)} of them wrong")
    for flaw in flaws[:20]:
        print("missed: " + flaw)
    if len(flaws) > 20:
        print(f"and {len(flaws) - 20} more")
    if not flaws:
        print("All promises are kept.")
        open("data/met", "w").close()
    sys.stdout.flush()
