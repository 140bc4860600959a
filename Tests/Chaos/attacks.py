"""What one hostile account does on one connection. Each attack takes a `Bot` and ends within seconds."""

import collections
import json
import os
import socket
import time

import transports
from broker_plugin import PORT, Client, overlapping, packet, text, topic

VICTIM_CLIENT = "victim-watch"
PREFIX = "pacebus/v1"


def identifier(random):
    """A UUID, from the seed."""
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


class Bot:
    def __init__(self, random, password, stopped):
        self.random, self.password, self.stopped = random, password, stopped
        self.client, self.sent, self.session, self.reply = (
            None,
            0,
            identifier(random),
            f"{random.getrandbits(128):032x}",
        )

    def connect(self, **options):
        self.close()
        connection = transports.connect(self.random.choice(transports.ALL))
        self.client = Client("attacker", self.password, connection=connection, **options)
        self.client.socket.settimeout(5)

    def close(self):
        if self.client:
            self.client.close()
        self.client = None

    def topic(self, rest, session=None, user="attacker"):
        session = session or self.session
        return f"{PREFIX}/{session[-2:]}/{user}/{session}/{rest}"

    def any_topic(self):
        device = f"d{self.random.randrange(50)}"
        return self.random.choice(
            [
                self.topic("command"),
                self.topic("request"),
                self.topic(f"samples/{device}"),
                self.topic(f"locations/{device}"),
                self.topic("activity/register"),
                self.topic("export/upload/result"),
                f"{PREFIX}/u/attacker/request",
                f"{PREFIX}/u/attacker/run-request",
                f"{PREFIX}/u/attacker/notifications/register",
            ]
        )

    def publish(self, topic, payload, qos=1, retain=False):
        """Sends without waiting for acknowledgements."""
        if self.stopped.is_set():
            raise InterruptedError
        if self.client is None or self.client.socket is None:
            self.connect(version=self.random.choice([4, 5]))
        if not isinstance(payload, bytes):
            payload = json.dumps(payload).encode()
        self.client.socket.sendall(self.client.publish_packet(topic, payload, qos, retain))
        self.sent += len(payload)
        self.client.read(0)
        self.client.messages.clear()

    def ask(self, topic, kind, **payload):
        self.publish(topic, {"id": identifier(self.random), "client": self.reply, "type": kind, **payload})

    def command(self, kind, session=None, **payload):
        self.ask(self.topic("command", session), kind, **payload)

    def start(self, **payload):
        self.session = identifier(self.random)
        self.command("start", activity="running", countdown=0, **payload)

    def wait(self, seconds):
        self.stopped.wait(seconds)


def items(kind, count, first=0, at=None):
    fields = {
        "samples": {"h": 132, "d": 2.81, "k": 0.21, "n": 3, "p": 245},
        "locations": {"la": 50.1, "lo": 8.6, "al": 112.3, "ac": 5, "v": 2.8},
    }[kind]
    begin = at or time.time() - count
    return {"a": 1, "s": first, "x": [{"c": round(begin + index, 3), **fields} for index in range(count)]}


def plan():
    """A plan of 30 KB."""
    name = "x" * 80
    item = {
        "name": name,
        "sets": [{"repetitions": 8, "weight": 62.5, "time": 30, "rest": 90}] * 2,
        "alternatives": [{"name": "y" + name}],
    }
    return {"sections": [{"items": [item] * 14}] * 6}


# MARK: Attacks


def retained_messages(bot):
    size = bot.random.choice([1, 1000, 250_000])
    for _ in range(2_000_000 // max(size, 20_000)):
        bot.publish(bot.any_topic(), os.urandom(size), bot.random.randrange(2), True)


def wills(bot):
    for _ in range(20):
        try:
            bot.connect(
                will=(
                    bot.any_topic(),
                    os.urandom(bot.random.choice([2, 60_000])),
                    bot.random.randrange(2),
                    bot.random.random() < 0.3,
                )
            )
        except PermissionError:
            pass
        if bot.stopped.is_set():
            return


def huge_json(bot):
    texts = [
        json.dumps(
            {
                "id": identifier(bot.random),
                "client": bot.reply,
                "type": "start",
                "activity": " from invalid String value " * 9_600,
            }
        ).encode(),
        b"[" * 250_000,
        b'{"a":' * 50_000,
        b'{"s":0,"x":[' + b"{}," * 80_000 + b"{}]}",
        b'{"s":' + b"9" * 250_000 + b',"x":[{}]}',
        b'{"' + b"\\u0000" * 40_000 + b'":1}',
        b"{" + b",".join(b'"k%d":%d' % (index, index) for index in range(15_000)) + b"}",
        b'{"s":0,"x":[' + b",".join([b'{"c":1e308,"h":1e-308,"d":-1e400}'] * 1000) + b"]}",
    ]
    for _ in range(10):
        bot.publish(bot.any_topic(), bot.random.choice(texts))
    bot.publish(bot.topic("command"), texts[0])


def malformed_json(bot):
    for _ in range(200):
        payload = bytearray(
            json.dumps(
                bot.random.choice(
                    [
                        items("samples", 5),
                        items("locations", 5),
                        {"id": identifier(bot.random), "client": bot.reply, "type": "start", "activity": "running"},
                        {
                            "id": identifier(bot.random),
                            "client": bot.reply,
                            "type": "setProfile",
                            "profile": {"weight": 80},
                        },
                    ]
                )
            ).encode()
        )
        for _ in range(bot.random.randrange(1, 10)):
            payload[bot.random.randrange(len(payload))] = bot.random.randrange(256)
        bot.publish(bot.any_topic(), bytes(payload[: bot.random.randrange(1, len(payload) + 1)]))


def starts_with_replace(bot):
    large = plan()
    for _ in range(60):
        bot.start(replace=True, definition=large)


def old_starts(bot):
    """Empty workouts that fill the history and leave retained messages."""
    for _ in range(200):
        begin = bot.random.uniform(1.2e9, 1.7e9)
        bot.start(at=begin, endAt=begin + 60)
        bot.command("end", at=begin + 60, streams={})


def copies(bot):
    """Messages that the broker copies for each of many filters, on all connections that do the same."""
    bot.connect(version=5)
    bot.client.subscribe_all(overlapping("attacker", 40, "samples/d"), bot.random.randrange(2))
    for _ in range(100):
        bot.publish(topic("attacker", "samples/d"), b"1")


def subscribes_again(bot):
    """Asks for the retained messages of all workouts, again and again."""
    bot.connect(version=5)
    filters = [f"{PREFIX}/+/attacker/+/{rest}" for rest in ("state", "workout", "summary/+", "#")]
    for _ in range(20):
        bot.client.subscribe_all([bot.random.choice(filters)] * 100)
        bot.client.messages.clear()
        if bot.stopped.is_set():
            return


def valid_items(bot):
    """Workouts of an archive with as many items as the broker lets through: 20 connections send 2 MiB a second."""
    begin, end, count = bot.random.uniform(1.2e9, 1.7e9), time.monotonic() + 6, 0
    bot.start(at=begin, endAt=begin + 36_000)
    while time.monotonic() < end:
        bot.publish(bot.topic("samples/watch-1"), items("samples", 1000, count, begin + count))
        count += 1000
        bot.wait(0.6)
    bot.command("end", at=begin + 36_000, streams={"samples/watch-1": count})


def batches_in_flight(bot):
    kind = bot.random.choice(["samples", "locations"])
    if bot.random.random() < 0.7:
        bot.start(replace=True)
    else:
        bot.session = identifier(bot.random)
    for index in range(400):
        bot.publish(bot.topic(f"{kind}/watch-1"), items(kind, 1000, 1000 * index))


def many_streams(bot):
    for _ in range(300):
        bot.publish(
            bot.topic(f"samples/d{bot.random.randrange(10_000)}"),
            items("samples", 1, bot.random.choice([0, 0, 5, 2**53])),
        )


def late_items(bot):
    bot.start(replace=True, at=time.time() - 7200)
    for index in range(8):
        bot.publish(bot.topic("samples/watch-1"), items("samples", 1000, 1000 * index, time.time() - 7000))
    bot.command("end", streams={"samples/watch-1": 8000, "locations/watch-1": 1})
    for index in range(20):
        bot.publish(bot.topic("samples/watch-1"), items("samples", 1, 8000 + index, time.time() - 10 - index))
        bot.wait(0.1)


def workouts_requests(bot):
    for _ in range(300):
        bot.ask(f"{PREFIX}/u/attacker/request", "workouts", limit=bot.random.choice([1, 100, 10**9]))


def chunk_requests(bot):
    bot.command("end")
    for _ in range(300):
        bot.ask(bot.topic("request"), bot.random.choice(["chunks", "chunks", "export"]))


def commands(bot):
    for _ in range(300):
        bot.command(bot.random.choice(["pause", "resume", "lap", "end", "suspend", "discard", "recover", "x"]))


def virtual_runs(bot):
    run, topic = identifier(bot.random), f"{PREFIX}/u/attacker/run-request"
    for _ in range(100):
        kind = bot.random.choice(
            [
                "create",
                "create",
                "invite",
                "accept",
                "confirm",
                "leave",
                "cancel",
                "show",
                "runs",
                "addContact",
                "block",
                "share",
                "x",
            ]
        )
        if kind == "create":
            run = identifier(bot.random)
        people = ["victim"] + [f"nobody-{bot.random.randrange(10_000)}" for _ in range(bot.random.choice([0, 10, 48]))]
        bot.ask(
            topic,
            kind,
            run=run,
            invite=people,
            users=people,
            user=people[-1],
            ghosts=bot.random.choice([[], [{"pace": 300}] * 8, [{"session": bot.session}]]),
            goal={"distance": bot.random.choice([100, 500_000])},
            sharing={"position": bot.random.random() < 0.5},
        )


def plans_and_profiles(bot):
    large = plan()
    for _ in range(50):
        kind = bot.random.choice(
            ["savePlan", "savePlan", "deletePlan", "setProfile", "deleteWorkout", "deleteEverything"]
        )
        bot.ask(
            f"{PREFIX}/u/attacker/request",
            kind,
            plan=identifier(bot.random),
            definition=large,
            session=bot.session,
            profile={"weight": 80, "zones": [100, 120, 140, 160]},
        )


def registrations(bot):
    for _ in range(100):
        bot.publish(
            bot.topic("activity/register"),
            {
                "id": identifier(bot.random),
                "client": bot.reply,
                "device": f"phone-{bot.random.randrange(10**6)}",
                "enabled": True,
                "token": f"{bot.random.getrandbits(256):064x}",
                "kind": "activity",
                "environment": "sandbox",
            },
        )
        bot.publish(
            f"{PREFIX}/u/attacker/notifications/register",
            {
                "id": identifier(bot.random),
                "client": bot.reply,
                "device": f"phone-{bot.random.randrange(10**6)}",
                "enabled": bot.random.random() < 0.8,
                "token": f"{bot.random.getrandbits(256):064x}",
                "environment": "sandbox",
            },
        )


def export_results(bot):
    for _ in range(100):
        bot.publish(
            bot.topic(f"export/t{bot.random.randrange(1000)}/result"),
            {
                "id": identifier(bot.random),
                "client": bot.reply,
                "workout": 1,
                "ok": False,
                "error": {"code": "x", "message": "m" * 2000},
            },
        )


def connects(bot):
    for _ in range(30):
        if bot.stopped.is_set():
            return
        bot.connect(version=bot.random.choice([4, 5]))


def takeovers(bot):
    for name in [VICTIM_CLIENT] * 5:
        try:
            bot.connect(name=name)
        except PermissionError:
            pass


def wrong_passwords(bot):
    for _ in range(20):
        try:
            Client("victim", "wrong").close()
        except PermissionError:
            pass
        if bot.stopped.is_set():
            return


def half_connects(bot):
    body = text("MQTT") + bytes([4, 0xC2]) + (60).to_bytes(2, "big") + text("half") + text("attacker") + text("x" * 100)
    data, sockets = packet(1, 0, body), []
    for _ in range(20):
        half = socket.create_connection(("127.0.0.1", PORT), 5)
        half.sendall(data[: bot.random.randrange(1, len(data))])
        sockets.append(half)
    bot.wait(1)
    for half in sockets:
        half.close()


def offline_queues(bot):
    name = f"offline-{bot.random.randrange(40)}"
    bot.connect(name=name, version=4, clean=False)
    bot.client.subscribe(f"{PREFIX}/+/attacker/#", 1)
    bot.connect()
    size = bot.random.choice([2, 20_000])
    for _ in range(300):
        bot.publish(bot.any_topic(), b"1" * size)


def unread(bot):
    """Subscribes to all that the account sends and causes, and reads nothing."""
    bot.connect()
    bot.client.subscribe(f"{PREFIX}/#", bot.random.randrange(2))
    bot.wait(3)


def subscriptions(bot):
    bot.connect()
    for index in range(150):
        bot.client.subscribe(
            bot.random.choice(
                [
                    f"{PREFIX}/#",
                    "#",
                    "$SYS/#",
                    "+/+/+/+/+/#",
                    "$share/g/pacebus/#",
                    f"{PREFIX}/+/victim/#",
                    "x/" * 100,
                    bot.topic(f"samples/d{index}/ack"),
                    f"{PREFIX}/u/+/replies/+",
                ]
            )
        )
        if bot.stopped.is_set():
            return


def forged_topics(bot):
    session = identifier(bot.random)
    for _ in range(100):
        bot.publish(
            bot.random.choice(
                [
                    bot.topic("command", session, "victim"),
                    bot.topic("samples/watch-1", session, "victim"),
                    bot.topic("state"),
                    bot.topic("workout"),
                    bot.topic("samples/watch-1/ack"),
                    f"{PREFIX}/u/victim/request",
                    f"{PREFIX}/u/victim/replies/x",
                    f"{PREFIX}/services/_session-engine/x",
                    f"{PREFIX}/rejected/_session-engine",
                    f"{PREFIX}/gg/attacker/{session}/command",
                    f"{PREFIX}/00/attacker/x/samples/" + "y" * 300,
                    f"{PREFIX}/00/attacker/{session}/samples/\x1b[2J",
                    "$SYS/pacebus/limited/x/victim",
                ]
            ),
            {"id": identifier(bot.random), "client": bot.reply, "type": "end"},
            bot.random.randrange(2),
        )


ATTACKS = [
    retained_messages,
    wills,
    huge_json,
    malformed_json,
    starts_with_replace,
    old_starts,
    copies,
    subscribes_again,
    valid_items,
    batches_in_flight,
    many_streams,
    late_items,
    workouts_requests,
    chunk_requests,
    commands,
    virtual_runs,
    plans_and_profiles,
    registrations,
    export_results,
    connects,
    takeovers,
    wrong_passwords,
    half_connects,
    offline_queues,
    unread,
    subscriptions,
    forged_topics,
]


def run(seed, index, password, stopped, counts):
    """Attacks until `stopped`; then puts how often each attack ran and the bytes sent into `counts`."""
    import random
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.nice(19)
    bot, done = Bot(random.Random(f"{seed}/{index}"), password, stopped), collections.Counter()
    while not stopped.is_set():
        attack = bot.random.choice(ATTACKS)
        try:
            attack(bot)
            done[attack.__name__] += 1
        except (OSError, PermissionError, AssertionError):
            # The broker may refuse or disconnect an attacker.
            done[attack.__name__ + " (refused)"] += 1
            bot.close()
            bot.wait(0.05)
    bot.close()
    counts.put((done, bot.sent))
