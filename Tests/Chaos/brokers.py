"""Kills and stops the active one of two brokers while a device sends: brokers.py SEED PORT COUNT SECONDS.

Runs in the folder of an installation, after compose/chaos has started it. Prints each gap in the device's acknowledgements,
and writes data/met if none lasts 5 s and no item is lost.
"""

import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../IntegrationTests"))
from broker_plugin import Client

SEED, COUNT, SECONDS = int(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
LONGEST_GAP, REPEAT, RETRY = 5, 1, 0.1


def identifier(random):
    return f"{random.getrandbits(32):08x}-0000-4000-8000-{random.getrandbits(48):012x}"


class Device:
    """Sends one item every 0.2 s. Repeats from the last acknowledgement on each connect, for a gap and after a second."""

    def __init__(self, password):
        self.password, self.client = password, None
        self.session, self.reply = identifier(random), os.urandom(16).hex()
        self.base = f"pacebus/v1/{self.session[-2:]}/victim/{self.session}"
        self.items, self.acked, self.is_started, self.gap = [], 0, False, -1
        self.next, self.due, self.acked_at, self.tried = time.monotonic(), 0, time.monotonic(), 0

    def connect(self):
        self.client = Client("victim", self.password)
        self.client.subscribe(f"{self.base}/samples/watch-1/ack")
        self.client.subscribe(f"pacebus/v1/u/victim/replies/{self.reply}")
        if not self.is_started:
            start = {
                "id": identifier(random),
                "client": self.reply,
                "type": "start",
                "activity": "running",
                "countdown": 0,
            }
            self.publish(f"{self.base}/command", start)
        self.repeat()

    def publish(self, topic, payload):
        self.client.socket.sendall(self.client.publish_packet(topic, json.dumps(payload).encode(), 1))

    def repeat(self):
        self.due = time.monotonic() + REPEAT
        self.send(self.acked)

    def send(self, first):
        items = self.items[first : first + 1000]
        if items:
            self.publish(f"{self.base}/samples/watch-1", {"s": first, "x": items, "a": 1})

    def step(self):
        """Does what is due. Returns the seconds without an acknowledgement if one ends now."""
        now = time.monotonic()
        try:
            if self.client is None:
                if now - self.tried < RETRY:
                    time.sleep(0.01)
                    return None
                self.tried = now
                self.connect()
            if now >= self.next:
                self.next += 0.2
                self.items.append({"c": time.time(), "h": 132, "d": 0.5})
                self.send(len(self.items) - 1)
            if self.acked < len(self.items) and now >= self.due:
                self.repeat()
            self.client.read(0.02)
            messages, self.client.messages = self.client.messages, []
            if self.client.socket is None:
                self.client = None
        except (OSError, PermissionError, AssertionError):
            self.client, messages = None, []
        for topic, payload, _ in messages:
            message = json.loads(payload)
            if topic.endswith("/ack") and message.get("n") == self.acked != self.gap and self.client:
                self.gap = self.acked
                self.due = 0
            elif topic.endswith("/ack") and message.get("n", 0) > self.acked:
                self.acked, self.due = message["n"], time.monotonic() + REPEAT
                gap, self.acked_at = time.monotonic() - self.acked_at, time.monotonic()
                return gap
            self.is_started |= message.get("ok") is True
        return None

    def run(self, seconds):
        """Sends for a time. Returns the longest gap, one that has not ended included."""
        end, longest = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            longest = max(longest, self.step() or 0)
        return max(longest, time.monotonic() - self.acked_at)


def broker(name):
    for line in open("data/run/processes"):
        found, process, _ = line.split()
        if found == name:
            return int(process)
    return 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seed {SEED}, {COUNT} faults; repeat with --seed {SEED}", flush=True)
    chance, end = random.Random(SEED), time.monotonic() + SECONDS
    faults = ["kill"] * (COUNT - COUNT // 2) + ["hang"] * (COUNT // 2)
    chance.shuffle(faults)
    device, gaps, returns = Device(open("data/secrets/victim").read().strip()), {"kill": [], "hang": []}, []
    while device.acked < 10 and time.monotonic() < end:
        device.step()
    for number, fault in enumerate(faults, 1):
        pause, hung = chance.uniform(1, 3), chance.uniform(4, 9)
        device.run(pause)
        if time.monotonic() >= end:
            print(f"stopped after {number - 1} faults: {SECONDS} s are over", flush=True)
            break
        process = broker("mosquitto")
        os.kill(process, signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
        if fault == "hang":
            gap = device.run(hung)
            os.kill(process, signal.SIGCONT)
            back = device.run(6)
            returns.append(back)
        else:
            # The broker starts again after a second or more, and is then the active one again.
            gap = device.run(9)
        gaps[fault].append(gap)
        print(
            f"{number:2} {fault}{f' for {hung:.1f} s' if fault == 'hang' else ''}: {gap:.2f} s"
            + (f", back {back:.2f} s" if fault == "hang" else ""),
            flush=True,
        )
    last = time.monotonic() + 30
    while (device.acked < len(device.items) or not device.items) and time.monotonic() < last:
        device.next = time.monotonic() + 60
        device.step()
    report({**gaps, "back": returns}, device)


def report(gaps, device):
    print("\nseconds without an acknowledgement, of which 0.2 between two items")
    for name, found in gaps.items():
        found = sorted(found)
        if found:
            print(f"{name:5} {len(found):3} times: median {found[len(found) // 2]:.2f}, worst {found[-1]:.2f}")
    missed = [f"{len(device.items) - device.acked} items have no acknowledgement"] * (device.acked < len(device.items))
    missed += [f"{name}: {max(found):.2f} s" for name, found in gaps.items() if found and max(found) >= LONGEST_GAP]
    print("\n" + ("\n".join("missed: " + text for text in missed) or "The goal is met."), flush=True)
    if not missed:
        open("data/met", "w").close()


if __name__ == "__main__":
    main()
