"""Kills, drains, freezes and cuts off replicas while devices send: replicas.py SEED PORT SECONDS HOST:PORT.

Runs in the folder of an installation, after compose/chaos has started it. Prints the gaps in the devices' acknowledgements,
and writes data/met if no promise is broken.
"""

import collections
import os
import random
import signal
import sys
import time

from database import Leases, ports, query
from devices import STREAMS, Devices, Gaps, clock, conclude, numbers, row

SEED, SECONDS = int(sys.argv[1]), int(sys.argv[3])
# The time that the end of the sessions may take, and the longest until all shards have owners again.
FINISH, SETTLE = 45, 60
KINDS, ODDS, GOALS = ("kill", "drain", "freeze", "cut", "gain"), (3, 3, 2, 1, 5), {"kill": 10, "drain": 2}
SERVICES = ("metrics-aggregator", "route-builder", "session-engine")
WEIGHTS = (3, 3, 2)
# These have no streams: each only gains shards and freezes.
OTHERS = ("exporter", "live-activity-publisher", "virtual-run", "importer", "weather-fetcher")


def processes(service):
    """The replicas that run: process ids by name."""
    found = {}
    for line in open("data/run/processes"):
        name, process, _ = line.split()
        if name.rstrip("-23456789") == service and process != "0":
            found[name] = int(process)
    return found


class Fault:
    """One replica and what happens to it. `gain` drains it, and freezes the one that gains its shards within 2 s, until a
    third process owns them."""

    def __init__(self, service, kind, chance, place):
        self.service, self.kind, self.place = service, kind, place
        self.frozen, self.delay = chance.uniform(6, 9) if kind == "gain" else chance.uniform(1, 9), chance.uniform(0, 2)
        self.process, self.gainer, self.freeze_at, self.thaw_at = None, None, None, None

    def begin(self):
        replicas = processes(self.service)
        self.leases, self.count = Leases(self.service), len(replicas)
        names = [name for name in sorted(replicas) if self.kind != "gain" or self.leases.shards(replicas[name])]
        self.name = names[int(self.place * len(names))]
        self.process = replicas[self.name]
        self.others = {process: self.leases.shards(process) for process in replicas.values() if process != self.process}
        self.shards, self.since = self.leases.shards(self.process), time.time()
        if self.kind == "cut":
            own = ",".join(map(str, ports(self.process) | {0}))
            query(
                self.service,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user "
                f"AND client_port = ANY ('{{{own}}}') AND pid <> pg_backend_pid()",
            )
        else:
            os.kill(self.process, {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP}.get(self.kind, signal.SIGTERM))
        if self.kind == "freeze":
            self.gainer, self.thaw_at = self.process, self.since + self.frozen

    def step(self):
        """Freezes the replica that has gained, and lets a frozen one continue."""
        now = time.time()
        if self.kind == "gain" and not self.gainer:
            leases = Leases(self.service)
            gained = [process for process, shards in self.others.items() if leases.shards(process) - shards]
            if gained:
                self.gainer, self.freeze_at = gained[0], now + self.delay
        if self.freeze_at and now >= self.freeze_at:
            os.kill(self.gainer, signal.SIGSTOP)
            self.freeze_at, self.thaw_at = None, now + self.frozen
        if self.thaw_at and now >= self.thaw_at:
            os.kill(self.gainer, signal.SIGCONT)
            self.thaw_at = None

    @property
    def is_frozen(self):
        return bool(self.thaw_at or self.freeze_at or self.kind == "gain" and not self.gainer)

    def is_over(self):
        """Whether the replica is back and all have equal shares."""
        replicas = processes(self.service)
        if len(replicas) < self.count or (self.kind in ("kill", "drain", "gain") and self.process in replicas.values()):
            return False
        leases = Leases(self.service)
        return leases.is_settled(self.count) and (leases.is_single or all(map(leases.shards, replicas.values())))

    def end(self):
        self.until, after = time.time(), Leases(self.service).epochs
        self.moved = {shard for shard, epoch in after.items() if epoch != self.leases.epochs[shard]}

    def __str__(self):
        return f"{self.kind} {self.name}" + (f" for {self.frozen:.1f} s" if self.kind in ("freeze", "gain") else "")


def draw(chance):
    """One fault, or two of different services at one time. Draws the same numbers whatever happens."""
    services = chance.choices(SERVICES, WEIGHTS) + [chance.choice(SERVICES)]
    both = chance.random() < 0.25 and services[0] != services[1]
    faults = [Fault(service, chance.choices(KINDS, ODDS)[0], chance, chance.random()) for service in services]
    if faults[0].kind == "gain":
        faults[0].service = chance.choice(SERVICES + OTHERS)
    both = both and faults[0].service != faults[1].service
    return faults if both else faults[:1], chance.uniform(0.2, 2)


def attack(devices, chance, end):
    """Returns the faults that are over, and what is broken."""
    done, number = [], 0
    while time.monotonic() < end:
        faults, pause = draw(chance)
        devices.run(pause)
        number += 1
        for fault in faults:
            fault.begin()
        begun, waiting = time.monotonic(), list(faults)
        while waiting and time.monotonic() < begun + SETTLE:
            devices.run(0.05 if any(fault.is_frozen for fault in faults) else 0.2)
            for fault in faults:
                fault.step()
            if not any(fault.is_frozen for fault in faults):
                waiting = [fault for fault in waiting if not fault.is_over()]
        for fault in faults:
            fault.end()
        print(
            f"{clock()} {number:3} {' and '.join(map(str, faults))}: settled after {time.monotonic() - begun:.1f} s",
            flush=True,
        )
        done += faults
        if waiting:
            return done, [f"after {SETTLE} s the shards of {waiting[0].service} are not shared by all its replicas"]
    return done, []


def report(faults, gaps):
    """Prints the table; returns the missed goals."""
    found, kept, flaws = collections.defaultdict(list), collections.defaultdict(list), []
    for fault in faults:
        kind = STREAMS.get(fault.service)
        for number in numbers() if kind is not None else []:
            shard = number & 255
            if shard not in fault.shards | fault.moved:
                continue
            gap = gaps.longest(number, kind, fault.since, fault.until)
            if shard not in fault.shards:
                found["balance"].append(gap)
            else:
                (found if shard in fault.moved else kept)[fault.kind].append(gap)
    counts = collections.Counter(fault.kind for fault in faults)
    print(
        "\nseconds from the last acknowledgement of a stream to the next, 0.2 of which are between two items\n"
        f"{'':28} {'faults':>6} {'streams':>10} {'p50':>7} {'p99':>7} {'worst':>7}"
    )
    for kind in KINDS:
        flaws += row(f"{kind}, handed over", counts[kind], found[kind], GOALS.get(kind))
        if kept[kind]:
            row(f"{kind}, not handed over", counts[kind], kept[kind])
    row("moved to a replica that is back", sum(counts.values()), found["balance"])
    print(
        f"hand-overs: {sum(map(len, found.values()))} of streams, {sum(len(fault.moved) for fault in faults)} of shards"
    )
    return flaws


def main():
    print(f"seed {SEED}; repeat with --seed {SEED}", flush=True)
    begun, devices, chance = time.monotonic(), Devices(SEED, SECONDS), random.Random(SEED)
    devices.run(3)
    faults, flaws = attack(devices, chance, begun + SECONDS - FINISH)
    flaws += devices.finish()
    flaws += report(faults, Gaps())
    conclude(devices, flaws)


if __name__ == "__main__":
    main()
