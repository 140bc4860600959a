"""One account attacks, another records a workout: abuse.py SEED PORT SECONDS NAME:PID:HEALTH-PORT…

Runs in the folder of an installation, after compose/chaos has started it. Prints what it measures, and writes data/met if
the victims' latencies and all processes meet the goal. Three accounts are victims: one connects to the broker itself, one
over TLS, one over WebSocket and TLS. The attacker uses all ways to the broker.
"""

import collections
import concurrent.futures
import json
import math
import multiprocessing
import os
import queue
import random
import signal
import sys
import time
import urllib.request

# Its clients take the port from the same place of the arguments.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../IntegrationTests"))
import attacks
import transports
from broker_plugin import Client

SEED, SECONDS = int(sys.argv[1]), int(sys.argv[3])
PROCESSES = [(name, int(pid), port) for name, pid, port in (argument.split(":") for argument in sys.argv[4:])]
CONNECTIONS, PROBES, COMMANDS = 20, 300, 240
CALM_SECONDS, LAST_WAIT, REPEAT = 20, 10, 5
P99, MOST = 0.5, 2


class Victim:
    """Records a workout as a device does: batches of one item, commands and requests, all at fixed times."""

    def __init__(self, user, transport):
        self.user, self.transport, self.password = user, transport, open(f"data/secrets/{user}").read().strip()
        self.client, self.disconnects, self.refusals = None, -1, 0
        self.session, self.reply = attacks.identifier(random), os.urandom(16).hex()
        self.base = f"pacebus/v1/{self.session[-2:]}/{user}/{self.session}"
        # By kind: when each item was sent, how many are acknowledged, the last gap, and when to repeat.
        self.items, self.acked = {"samples": [], "locations": []}, {"samples": 0, "locations": 0}
        self.gaps, self.due = {"samples": -1, "locations": -1}, {"samples": 0, "locations": 0}
        self.waiting, self.delays = {}, collections.defaultdict(list)

    def connect(self):
        self.disconnects += 1
        # HAProxy limits connections of an address, and elsewhere attackers have others.
        connection = transports.connect(self.transport, "127.0.0.9")
        self.client = Client(self.user, self.password, name=f"{self.user}-watch", connection=connection)
        for topic in (
            f"{self.base}/samples/watch-1/ack",
            f"{self.base}/locations/watch-1/ack",
            f"pacebus/v1/u/{self.user}/replies/{self.reply}",
        ):
            self.client.subscribe(topic)
        for kind in self.items:
            self.send_items(kind, self.acked[kind])

    def publish(self, topic, payload):
        self.client.socket.sendall(self.client.publish_packet(topic, json.dumps(payload).encode(), 1))

    def send_items(self, kind, first):
        fields = {"samples": {"h": 132, "d": 2.8}, "locations": {"la": 50.1, "lo": 8.6, "ac": 5}}[kind]
        first = max(first, len(self.items[kind]) - 1000)
        items = [{"c": at, **fields} for at, _ in self.items[kind][first : first + 1000]]
        self.due[kind] = time.monotonic() + REPEAT
        # `a` asks for an acknowledgement with the commit.
        if items:
            self.publish(f"{self.base}/{kind}/watch-1", {"s": first, "x": items, "a": 1})

    def probe(self):
        for kind, items in self.items.items():
            items.append((time.time(), time.monotonic()))
            self.send_items(kind, len(items) - 1)

    def ask(self, kind, topic, **payload):
        own = attacks.identifier(random)
        self.waiting[own] = [kind, topic, {"id": own, "client": self.reply, **payload}, time.monotonic(), 0]
        self.send_waiting()

    def ask_both(self):
        self.ask("commands", f"{self.base}/command", type="lap")
        self.ask("requests", f"pacebus/v1/u/{self.user}/request", type="workouts")

    def send_waiting(self):
        for entry in self.waiting.values():
            if time.monotonic() >= entry[4]:
                entry[4] = time.monotonic() + REPEAT
                self.publish(entry[1], entry[2])

    def receive(self, timeout):
        self.client.read(max(timeout, 0))
        now, messages = time.monotonic(), self.client.messages
        self.client.messages = []
        for topic, payload, _ in messages:
            message = json.loads(payload)
            if topic.endswith("/ack"):
                self.refusals += "error" in message
                self.acknowledge(topic.split("/")[-3], message.get("n", 0), now)
            elif message["id"] in self.waiting:
                kind, _, _, begun, _ = self.waiting.pop(message["id"])
                self.refusals += not message["ok"]
                self.delays[kind].append(now - begun)
        if self.client.socket is None:
            raise ConnectionError("disconnected")

    def acknowledge(self, kind, next, now):
        if next == self.acked[kind] < len(self.items[kind]) and self.gaps[kind] != next:
            self.gaps[kind] = next
            self.send_items(kind, next)
        for _, sent in self.items[kind][self.acked[kind] : next]:
            self.delays[kind].append(now - sent)
        self.acked[kind] = max(next, self.acked[kind])

    def has_answers(self):
        return not self.waiting and all(self.acked[kind] == len(self.items[kind]) for kind in self.items)

    def start(self):
        self.connect()
        self.ask("start", f"{self.base}/command", type="start", activity="running", countdown=0)
        end = time.monotonic() + 10
        while self.waiting and time.monotonic() < end:
            self.receive(0.1)

    def measure(self, seconds, probes=0, commands=0):
        """Returns the delays by kind; infinite for what has no answer."""
        self.delays.clear()
        begun = time.monotonic()
        end, next_probe, next_command, sent_probes, sent_commands = begun + seconds, begun, begun, 0, 0
        while True:
            now = time.monotonic()
            is_sending = now < end or sent_probes < probes or sent_commands < commands
            if (not is_sending and self.has_answers()) or now > end + LAST_WAIT:
                break
            try:
                if self.client is None or self.client.socket is None:
                    self.connect()
                if is_sending and now >= next_probe:
                    next_probe, sent_probes = next_probe + 0.2, sent_probes + 1
                    self.probe()
                if is_sending and now >= next_command:
                    next_command, sent_commands = next_command + 0.25, sent_commands + 1
                    self.ask_both()
                for kind in self.items:
                    if self.acked[kind] < len(self.items[kind]) and now >= self.due[kind]:
                        self.send_items(kind, self.acked[kind])
                self.send_waiting()
                self.receive(min(next_probe, next_command) - time.monotonic() if is_sending else 0.1)
            except (OSError, PermissionError, AssertionError) as error:
                print(f"{self.user} is disconnected: {error!r}", flush=True)
                self.client = None
                time.sleep(0.2)
        for kind in self.items:
            self.delays[kind] += [math.inf] * (len(self.items[kind]) - self.acked[kind])
        for kind, *_ in self.waiting.values():
            self.delays[kind].append(math.inf)
        return {f"{kind}, {self.transport}": sorted(delays) for kind, delays in self.delays.items()}


def measure(victims, *arguments):
    """The delays of all victims by kind and transport."""
    with concurrent.futures.ThreadPoolExecutor(len(victims)) as pool:
        results = list(pool.map(lambda victim: victim.measure(*arguments), victims))
    return {name: delays for result in results for name, delays in result.items()}


def at(ordered, part):
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else math.inf


def milliseconds(ordered):
    return " ".join(f"{at(ordered, part) * 1000:9.1f}" for part in (0.5, 0.99, 1))


def memory():
    """The memory of each process now and at most, in MiB; nothing if it has ended."""
    found = {}
    for name, pid, _ in PROCESSES:
        try:
            status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
            found[name] = [int(status[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM")]
        except (OSError, KeyError):
            pass
    return found


def processor_seconds():
    """The processor time that each process has used."""
    found = {}
    for name, pid, _ in PROCESSES:
        try:
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            found[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            pass
    return found


def get(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.read().decode()
    except OSError:
        return None


def limited():
    """What limits stopped: values of `pacebus_limited_total` by service and limit."""
    counts = {}
    for name, _, port in PROCESSES:
        for line in (get(port, "/metrics") or "").splitlines() if port else []:
            if line.startswith("pacebus_limited_total{"):
                labels, value = line.rsplit(" ", 1)
                counts[f"{name} {labels[len('pacebus_limited_total') :]}"] = float(value)
    return counts


def attack_until(stopped, password, counts):
    """Starts a process for each connection, at the lowest priority: elsewhere attackers use processors of their own."""
    processes = [
        multiprocessing.Process(target=attacks.run, args=(SEED, index, password, stopped, counts), daemon=True)
        for index in range(CONNECTIONS)
    ]
    for process in processes:
        process.start()
    return processes


def finish(processes):
    for process in processes:
        process.join(5)
        if process.is_alive():
            process.kill()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seed {SEED}, an attack of {SECONDS} s; repeat with --seed {SEED}", flush=True)
    victims = [
        Victim("victim", transports.PLAIN),
        Victim("victim-tls", transports.TLS),
        Victim("victim-wss", transports.WSS),
    ]
    for victim in victims:
        victim.start()
    calm, before = measure(victims, CALM_SECONDS), memory()
    calm_disconnects, used = sum(victim.disconnects for victim in victims), processor_seconds()
    stopped, counts = multiprocessing.Event(), multiprocessing.Queue()
    processes = attack_until(stopped, open("data/secrets/attacker").read().strip(), counts)
    abused = measure(victims, SECONDS, PROBES, COMMANDS)
    used = {name: seconds - used.get(name, 0) for name, seconds in processor_seconds().items()}
    stopped.set()
    report(victims, calm, abused, before, used, calm_disconnects, processes, counts)


def report(victims, calm, abused, before, used, calm_disconnects, processes, counts):
    failures = []
    mix, total, end = collections.Counter(), 0, time.monotonic() + 15
    for _ in processes:
        try:
            done, sent = counts.get(timeout=max(end - time.monotonic(), 0))
        except queue.Empty:
            break
        mix.update(done)
        total += sent
    finish(processes)
    columns = ["calm: p50", "p99", "maximum", " attack: p50", "p99", "maximum", "count"]
    print(f"\n{'milliseconds':16} " + " ".join(f"{column:>9}" for column in columns))
    for kind in sorted(abused):
        delays = abused[kind]
        print(f"{kind:16} {milliseconds(calm.get(kind, []))}    {milliseconds(delays)} {len(delays):9}")
        if at(delays, 0.99) >= P99 or at(delays, 1) >= MOST:
            failures.append(f"{kind}: p99 {at(delays, 0.99) * 1000:.0f} ms, maximum {at(delays, 1) * 1000:.0f} ms")
    after = memory()
    print(f"\n{'MiB':23} before   after    most   processor seconds of the attack")
    for name, _, port in PROCESSES:
        if name not in after:
            failures.append(f"{name} ended")
        elif port and get(port, "/livez") is None:
            failures.append(f"{name} does not respond on its health port")
        if name in after:
            print(
                f"{name:23} {before[name][0]:6.0f} {after[name][0]:7.0f} {after[name][1]:7.0f} {used.get(name, 0):7.1f}"
            )
    stops = {name: value for name, value in limited().items() if value}
    print("\npacebus_limited_total" + "".join(f"\n  {name} {value:.0f}" for name, value in sorted(stops.items())))
    print(
        f"\nattacks, {total / 1048576:.0f} MiB sent:",
        ", ".join(f"{name} {count}" for name, count in sorted(mix.items())),
    )
    if not stops:
        failures.append("no limit counted anything")
    disconnects = sum(victim.disconnects for victim in victims) - calm_disconnects
    if disconnects > 0:
        failures.append(f"victims were disconnected {disconnects} times")
    refusals = sum(victim.refusals for victim in victims)
    if refusals:
        failures.append(f"{refusals} of the victims' commands and requests were refused")
    if not mix:
        failures.append("no attack ran")
    print("\n" + ("\n".join("missed: " + failure for failure in failures) or "The goal is met."), flush=True)
    if not failures:
        open("data/met", "w").close()


if __name__ == "__main__":
    main()
