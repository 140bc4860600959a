"""The sessions of a day in less time: day.py SEED PORT SECONDS SESSIONS PROGRAMS NAME:PID:HEALTH-PORT…

Runs in the folder of an installation, after compose/chaos has started it. Each session records an hour, twelve times as
fast. Others run in virtual runs, and files of finished workouts are imported. Samples memory, descriptors, disk and
latencies, and writes data/met if nothing is lost and everything levels off.
"""

import glob
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

import fleet

SEED, SECONDS, SESSIONS, PROGRAMS = int(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
PROCESSES = [(name, int(pid)) for name, pid, _ in (argument.split(":") for argument in sys.argv[6:])]
# The items of an hour, and how many of them are a batch of each second.
ITEMS, SPEED = 3600, 12
# A user records a session every two hours. Seconds until a session's last item.
USERS, SESSION_TIME = 200, ITEMS / SPEED
# Seconds from one sample, and from one import, to the next; the limit of what follows the last session.
SAMPLE, IMPORT, LIMIT = 30, 60, 300
# What a process may gain in the last half: a share of its memory, or KiB for each session. These keep something of each session
# for two days: its retained messages, its record, its exports, its run.
GROWTH, KEPT = 0.05, {"mosquitto": 32, "session-engine": 32, "exporter": 16, "virtual-run": 16}
OTHERS_KEEP = 8
EXPORTED = "data/exports/day-*/**/*.fit"


class Stream(fleet.Stream):
    """Notes how long each batch waits for its acknowledgement."""

    def add(self, count):
        self.added_at = time.monotonic()
        super().add(count)

    def receive(self, n):
        if n == self.count > self.acked:
            self.session.fleet.delays["items"].append(time.monotonic() - self.added_at)
        super().receive(n)


class Session(fleet.Session):
    def __init__(self, day, number):
        super().__init__(day, number)
        self.user = f"day-{number % USERS:03}"
        self.base = f"pacebus/v1/{self.id[-2:]}/{self.user}/{self.id}"
        self.begin = fleet.BEGIN + number // USERS * 7200
        self.streams = {kind: Stream(kind, self) for kind in ("samples", "locations")}
        self.due, self.ended_at = time.monotonic() + 1, None
        self.ask("start", self.begin, activity="running", countdown=0)

    def step(self, now):
        super().step(now)
        count = self.streams["samples"].count
        if count < ITEMS and now >= self.due:
            self.due += 1
            self.add(SPEED)
        elif count == ITEMS and not self.ended_at:
            self.ended_at = now
            self.end()

    def reply(self, message):
        waited = len(self.delays)
        super().reply(message)
        self.fleet.delays["commands"] += self.delays[waited:]


class Day(fleet.Fleet):
    def __init__(self):
        super().__init__(random.Random(SEED))
        self.delays, self.samples, self.missed = {"items": [], "commands": [], "workouts": []}, [], []
        self.begun = self.done = self.imports = self.runners = self.next_import = 0
        self.jobs, self.environment = (
            {},
            {
                **os.environ,
                "MQTT_URL": f"mqtt://_simulator@127.0.0.1:{sys.argv[2]}",
                "MQTT_PASSWORD_FILE": "data/secrets/_simulator",
            },
        )

    def finished(self):
        for session in [session for session in self.sessions.values() if session.ended_at and session.is_complete]:
            self.delays["workouts"].append(time.monotonic() - session.ended_at)
            self.missed += [f"{session.id}: {refusal}" for refusal in session.refusals]
            del self.sessions[session.id]
            self.done += 1

    def launch(self, name, *command):
        """Starts a program unless it still runs; notes when it has failed."""
        if name in self.jobs and self.jobs[name].poll() is None:
            return False
        self.check(name)
        log = open(f"data/log/{name}.log", "w")
        command = [f"{PROGRAMS}/{command[0]}", *map(str, command[1:])]
        self.jobs[name] = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command], env=self.environment, stdout=log, stderr=log
        )
        return True

    def check(self, name):
        if name in self.jobs and self.jobs.pop(name).wait():
            self.missed.append(f"{name} failed: " + open(f"data/log/{name}.log").read().strip()[-300:])

    def add_work(self, passed):
        """Begins the sessions that are due, runs and imports."""
        while self.begun < min(SESSIONS, (passed + 1) / (SECONDS - SESSION_TIME) * SESSIONS):
            session = Session(self, self.begun)
            self.sessions[session.id] = session
            self.begun += 1
        if passed < SECONDS - SESSION_TIME and self.launch(
            "runs", "device", "simulate", "--devices", 4, "--run-size", 2, "--duration", ITEMS, "--speed-up", SPEED
        ):
            self.runners += 4
        if passed >= self.next_import:
            self.next_import += IMPORT
            self.import_file()

    def import_file(self):
        """Another account imports a workout that no one has imported."""
        files = sorted(glob.glob(EXPORTED, recursive=True))[self.imports :]
        user = f"import-{self.imports:03}"
        if files and self.launch("import", "pacebus", "import", files[0], "--user", user, "--duplicates", "import"):
            self.imports += 1

    def sample(self, passed):
        row = {"minute": round(passed / 60, 1), "sessions": self.begun, "done": self.done}
        for name, pid in PROCESSES:
            try:
                status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
                row[f"{name} KiB"] = int(status["VmRSS"].split()[0])
                row[f"{name} files"] = len(os.listdir(f"/proc/{pid}/fd"))
            except OSError:
                raise SystemExit(f"{name} ended") from None
        for path in (*sorted(glob.glob("data/*.sqlite")), "data/exports", "data/log"):
            row[f"{path} KiB"] = self.size(f"{path}*")
        for kind, delays in self.delays.items():
            ordered = sorted(delays)
            row[f"{kind} p50 ms"], row[f"{kind} p99 ms"] = (
                round(1000 * ordered[int(len(ordered) * part)]) if ordered else 0 for part in (0.5, 0.99)
            )
            delays.clear()
        self.samples.append(row)
        with open("data/log/day.jsonl", "a") as log:
            log.write(json.dumps(row) + "\n")

    def size(self, pattern):
        """The KiB on disk of a store with its log, or of a folder. Without the file that keeps space for a full disk."""
        paths = [path for path in glob.glob(pattern) if not path.endswith(".reserve")]
        lines = (
            subprocess.run(["du", "-sk", *paths], capture_output=True, text=True).stdout.splitlines() if paths else []
        )
        return sum(int(line.split()[0]) for line in lines)

    def run(self):
        begun, next_sample, next_note = time.monotonic(), 0, 0
        while True:
            self.step()
            passed = time.monotonic() - begun
            self.finished()
            self.add_work(passed)
            if passed >= next_sample:
                next_sample += SAMPLE
                self.sample(passed)
            if passed >= next_note:
                next_note += 600
                print(f"{passed / 60:4.0f} min: {self.begun} sessions begun, {self.done} complete", flush=True)
            if self.begun == SESSIONS and not self.sessions or passed > SECONDS + LIMIT:
                break
        for name in list(self.jobs):
            self.check(name)
        # The last workouts' files follow.
        end = time.monotonic() + SAMPLE
        while self.exported() < self.done and time.monotonic() < end:
            self.step()
        self.sample(time.monotonic() - begun)

    def exported(self):
        return len(glob.glob(EXPORTED, recursive=True))

    def quarter(self, part, key):
        """The median of a quarter of the samples."""
        size = len(self.samples) // 4
        return statistics.median(row.get(key, 0) for row in self.samples[part * size : (part + 1) * size])

    def report(self):
        if self.sessions:
            self.missed.append(f"{len(self.sessions)} sessions have no complete workout")
        sessions = self.quarter(3, "done") - self.quarter(1, "done")
        print(
            f"\n{'medians of quarters':34} {'1st':>9} {'2nd':>9} {'3rd':>9} {'4th':>9}   KiB a session in the last half"
        )
        for key in self.samples[-1]:
            quarters = [self.quarter(part, key) for part in range(4)]
            text = f"{key:34} " + " ".join(f"{value:9.0f}" for value in quarters)
            if key.endswith(" KiB"):
                gained = (quarters[3] - quarters[1]) / sessions
                text += f" {gained:9.1f}"
                name = key.removesuffix(" KiB")
                limit = KEPT.get(name, OTHERS_KEEP)
                if name in dict(PROCESSES) and quarters[3] > quarters[1] * (1 + GROWTH) and gained > limit:
                    self.missed.append(f"{name} grows by {gained:.1f} KiB a session; at most {limit} are kept")
            elif key.endswith(" files") and quarters[3] > quarters[1] + 8:
                self.missed.append(f"{key}: from {quarters[1]:.0f} to {quarters[3]:.0f}")
            elif key.endswith(" p99 ms") and quarters[3] > 2 * quarters[1] + 100:
                self.missed.append(f"{key}: from {quarters[1]:.0f} to {quarters[3]:.0f}")
            print(text)
        exported = self.exported()
        print(f"\n{self.done} workouts, {exported} of them as FIT; {self.runners} in runs, {self.imports} imported")
        if exported != self.done:
            self.missed.append(f"{self.done - exported} workouts have no FIT file")
        print("\n".join(f"missed: {text}" for text in self.missed[:20]) or "All levels off, and nothing is lost.")
        if not self.missed:
            open("data/met", "w").close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seed {SEED}; repeat with --seed {SEED}", flush=True)
    # A lap every five minutes of a session.
    fleet.LAP = 300
    day = Day()
    day.run()
    day.report()
