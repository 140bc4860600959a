"""Upgrades replicas one after the other while devices send: upgrade.py SEED PORT NEWER

Runs in the folder of an installation, after compose/chaos has started it. NEWER has executables of a newer schema. Prints
each step with the longest times without an acknowledgement, and writes data/met if nothing is lost, nothing counts twice,
and no older replica took a shard that a newer one had.
"""

import math
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request

from fleet import RATE, SESSIONS, STALL, Fleet

SEED, NEWER = int(sys.argv[1]), sys.argv[3]
SERVICES = ["session-engine", "metrics-aggregator", "route-builder"]
# Seconds without an acknowledgement, after SIGTERM and after kill -9.
DRAIN_GOAL, KILL_GOAL = 2, 10


class Upgrade:
    def __init__(self):
        self.fleet, self.gaps, self.missed = Fleet(random.Random(SEED)), {"restart": [], "kill": []}, []
        self.port = open("data/postgres/postmaster.pid").read().split("\n")[3]

    def sql(self, service, statements):
        environment = {**os.environ, "PGPASSWORD": open(f"data/secrets/postgres-{service}").read().strip()}
        command = [
            "psql",
            "-h",
            "127.0.0.1",
            "-p",
            self.port,
            "-U",
            service,
            "-d",
            "pacebus",
            "-XAtq",
            "-v",
            "ON_ERROR_STOP=1",
        ]
        return subprocess.run(
            [*command, "-c", statements], env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()

    def audit(self, service):
        """Notes each claim of a shard: the version that had it last, and the one that claims it."""
        self.sql(
            service,
            f"""
            SET search_path = "{service}";
            CREATE TABLE claim (shard int2, before int, after int, at timestamptz DEFAULT clock_timestamp());
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO "{service}".claim VALUES (NEW.shard, OLD.version, NEW.version);
                RETURN NEW;
            END $$;
            CREATE TRIGGER note BEFORE UPDATE ON lease FOR EACH ROW
                WHEN (NEW.owner IS NOT NULL AND OLD.epoch <> NEW.epoch) EXECUTE FUNCTION note();""",
        )

    def shards(self, name):
        url = dict(line.split() for line in open("data/run/urls"))[name]
        try:
            with urllib.request.urlopen(url + "/metrics", timeout=5) as response:
                text = response.read().decode()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in text.split("\n") if line.startswith("pacebus_shards_owned ")), 0)

    def owned(self, service):
        return [self.shards(name) for name in (service, f"{service}-2")]

    def step(self, kind, name, action):
        """Does something with a replica, waits until two replicas own all shards, and measures meanwhile."""
        service = name.removesuffix("-2")
        for session in self.fleet.sessions.values():
            session.delays.clear()
            for stream in session.streams.values():
                stream.take_longest()
        begun = time.monotonic()
        action()
        self.fleet.until(
            lambda: sum(shards := self.owned(service)) == 256 and all(shards), f"{service} owns all shards"
        )
        seconds = time.monotonic() - begun
        # Until all have been acknowledged again.
        self.fleet.run(STALL)
        longest = {
            k: [session.streams[k].take_longest() for session in self.fleet.sessions.values()]
            for k in ("samples", "locations")
        }
        delays = [delay for session in self.fleet.sessions.values() for delay in session.delays]
        self.gaps[kind] += longest["samples"] + longest["locations"]
        print(
            f"{kind:8} {name:21} {seconds:5.1f} s  shards {'/'.join(map(str, self.owned(service))):8} "
            f"samples {max(longest['samples']):5.2f} s  locations {max(longest['locations']):5.2f} s  "
            f"commands {max(delays, default=0):5.2f} s",
            flush=True,
        )

    def restart(self, name):
        process = subprocess.Popen(["compose/restart", name], stdout=subprocess.DEVNULL)
        while process.poll() is None:
            self.fleet.step()
        assert process.returncode == 0, f"compose/restart {name} failed"

    def process(self, name):
        return int(dict(line.rsplit(" ", 1)[0].split() for line in open("data/run/processes"))[name])

    def kill(self, name):
        before = self.process(name)
        os.kill(before, signal.SIGKILL)
        self.fleet.until(lambda: self.process(name) not in (0, before), f"{name} runs again")

    def upgrade(self, service):
        os.symlink(f"{NEWER}/{service}", f".build/bin/{service}.new")
        os.rename(f".build/bin/{service}.new", f".build/bin/{service}")
        self.step("restart", service, lambda: self.restart(service))
        # The older replica must leave the shards of the newer one alone.
        self.step("kill", service, lambda: self.kill(service))
        self.step("restart", f"{service}-2", lambda: self.restart(f"{service}-2"))

    def check(self, text, is_met):
        if not is_met:
            self.missed.append(text)

    def run(self):
        versions = {service: int(self.sql(service, f'SELECT version FROM "{service}".store')) for service in SERVICES}
        for service in SERVICES:
            self.audit(service)
        fleet = self.fleet
        fleet.begin()
        fleet.is_live, fleet.next = True, time.monotonic()
        fleet.until(
            lambda: all(
                stream.acked >= 10 for session in fleet.sessions.values() for stream in session.streams.values()
            ),
            "all streams are acknowledged",
        )
        print(
            f"{SESSIONS} sessions of {RATE} samples and {RATE} locations a second\n\n"
            "step     replica                 until all shards are owned; longest without an acknowledgement or a reply",
            flush=True,
        )
        for service in SERVICES:
            self.upgrade(service)
        upgraded = fleet.finish()
        live = list(fleet.sessions.values())
        items = sum(stream.count for session in live for stream in session.streams.values())
        laps = sum(session.laps for session in live)
        self.check("commands were refused", not any(session.refusals for session in live))
        print(f"\n{items} items and {laps} laps; now the same again, quietly", flush=True)
        fleet.begin()
        for session, other in zip(fleet.sessions.values(), live):
            session.add(other.streams["samples"].count)
        fleet.until(lambda: not any(session.commands for session in fleet.sessions.values()), "all laps have a reply")
        quiet = fleet.finish()
        for number, (one, other) in enumerate(zip(upgraded, quiet)):
            self.check(f"session {number} has other results than in a quiet run:\n  {one}\n  {other}", one == other)
        for service in SERVICES:
            self.report(service, versions[service])
        for kind, goal in (("restart", DRAIN_GOAL), ("kill", KILL_GOAL)):
            gaps = sorted(self.gaps[kind])
            p99 = gaps[math.ceil(len(gaps) * 0.99) - 1]
            print(
                f"{kind}: {len(gaps)} streams, longest without an acknowledgement p50 {gaps[len(gaps) // 2]:.2f} s, "
                f"p99 {p99:.2f} s, goal {goal} s"
            )
            self.check(f"{kind}: p99 {p99:.2f} s", p99 < goal)
        print(
            "\n"
            + (
                "\n".join("missed: " + text for text in self.missed)
                or "Nothing was lost, and the results are the same."
            ),
            flush=True,
        )
        if not self.missed:
            open("data/met", "w").close()

    def report(self, service, older):
        table = f'"{service}"'
        newer = int(self.sql(service, f"SELECT version FROM {table}.store"))
        leases = self.sql(service, f"SELECT string_agg(DISTINCT version::text, ', ') FROM {table}.lease")
        claims = self.sql(service, f"SELECT count(*) FROM {table}.claim WHERE before = {older} AND after = {newer}")
        back = self.sql(service, f"SELECT count(*) FROM {table}.claim WHERE after < before")
        print(
            f"{service}: schema {older} to {newer}; leases of version {leases}; {claims} claims took a shard from the older "
            f"version, {back} took one back"
        )
        self.check(f"{service} has no newer schema", newer > older)
        self.check(f"{service} has leases of version {leases}", leases == str(newer))
        self.check(f"{service}: the newer version claimed {claims} shards of the older one", claims == "256")
        self.check(f"{service}: an older replica took {back} shards back", back == "0")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    Upgrade().run()
