"""Clients that test the broker's plugin: broker_plugin.py SCENARIO PORT, in the folder of a running installation.

They speak MQTT themselves, so that they can be hostile: never read, never acknowledge, send at full speed.
"""

import itertools
import json
import multiprocessing
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

PORT = int(sys.argv[2])
SESSION = "0f8fad5b-d9cb-469f-a165-70867728950e"
CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PING = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
)


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return len(data).to_bytes(2, "big") + data


def number(value):
    out = b""
    while True:
        value, byte = divmod(value, 128)
        out += bytes([byte | (128 if value else 0)])
        if not value:
            return out


def packet(kind, flags, body):
    return bytes([kind << 4 | flags]) + number(len(body)) + body


class Client:
    def __init__(
        self,
        user,
        password,
        name=None,
        version=5,
        clean=True,
        expiry=0,
        will=None,
        address="127.0.0.1",
        connection=None,
    ):
        self.user, self.version, self.buffer, self.messages, self.id = user, version, b"", [], 0
        self.acks, self.socket = {}, connection or socket.create_connection(("127.0.0.1", PORT), 10, (address, 0))
        if not connection:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        flags = 0xC0 | (2 if clean else 0) | ((4 | will[2] << 3 | will[3] << 5) if will else 0)
        body = text("MQTT") + bytes([version, flags]) + (60).to_bytes(2, "big")
        if version == 5:
            body += b"\x05\x11" + expiry.to_bytes(4, "big") if expiry else b"\0"
        body += text(name or f"{user}-{os.urandom(8).hex()}")
        if will:
            body += (b"\0" if version == 5 else b"") + text(will[0]) + text(will[1])
        self.socket.sendall(packet(CONNECT, 0, body + text(user) + text(password)))
        self.reason = self.session_present = None
        self.wait(lambda: self.reason is not None or self.socket is None)
        if self.reason != 0:
            raise PermissionError(f"{user}: CONNACK {self.reason}")

    @property
    def is_connected(self):
        self.read(0)
        return self.socket is not None

    def read(self, timeout=0.05):
        """Reads and acknowledges what has arrived."""
        # TLS may have decrypted more than was read.
        while self.socket and (
            getattr(self.socket, "pending", int)() or select.select([self.socket], [], [], timeout)[0]
        ):
            timeout = 0
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionError:
                data = b""
            if not data:
                self.socket.close()
                self.socket = None
                return
            self.buffer += data
            while (taken := self.take()) is not None:
                self.handle(*taken)

    def take(self):
        length, shift, at = 0, 0, 1
        while True:
            if at >= len(self.buffer):
                return None
            byte = self.buffer[at]
            length, shift, at = length | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                break
        if len(self.buffer) < at + length:
            return None
        taken, self.buffer = (self.buffer[0], self.buffer[at : at + length]), self.buffer[at + length :]
        return taken

    def handle(self, header, body):
        kind = header >> 4
        if kind == CONNACK:
            self.session_present, self.reason = body[0], body[1]
        elif kind in (PUBACK, PUBREC):
            self.acks[int.from_bytes(body[:2], "big")] = body[2] if len(body) > 2 else 0
        elif kind in (SUBACK, UNSUBACK):
            self.acks[int.from_bytes(body[:2], "big")] = body[-1]
            self.reasons = list(body[3 if self.version == 5 else 2 :])
        elif kind == PUBLISH:
            size = int.from_bytes(body[:2], "big")
            topic, rest = body[2 : 2 + size].decode(), body[2 + size :]
            if header >> 1 & 3:
                self.socket.sendall(packet(PUBACK, 0, rest[:2]))
                rest = rest[2:]
            if self.version == 5:
                rest = rest[1 + rest[0] :]
            self.messages.append((topic, rest, bool(header & 1)))

    def wait(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not (is_met := condition()) and time.monotonic() < end and self.socket:
            self.read()
        return is_met

    def next_id(self):
        self.id = self.id % 65535 + 1
        return self.id

    def publish_packet(self, topic, payload, qos=0, retain=False, properties=b""):
        body = text(topic) + (self.next_id().to_bytes(2, "big") if qos else b"")
        body += number(len(properties)) + properties if self.version == 5 else b""
        return packet(PUBLISH, qos << 1 | retain, body + payload)

    def publish(self, topic, payload=b"{}", qos=1, retain=False, properties=b""):
        """Publishes and returns the reason code; 0 for QoS 0."""
        data = self.publish_packet(topic, payload, qos, retain, properties)
        self.acks.pop(self.id, None)
        self.socket.sendall(data)
        number_of_this = self.id
        if qos:
            assert self.wait(lambda: number_of_this in self.acks), f"{self.user}: no acknowledgement for {topic}"
        return self.acks[number_of_this] if qos else 0

    def subscribe(self, filter, qos=1):
        own = self.next_id()
        body = own.to_bytes(2, "big") + (b"\0" if self.version == 5 else b"") + text(filter) + bytes([qos])
        self.socket.sendall(packet(SUBSCRIBE, 2, body))
        assert self.wait(lambda: own in self.acks)
        return self.acks[own]

    def subscribe_all(self, filters, qos=0):
        """Subscribes with one packet and returns all reason codes."""
        own = self.next_id()
        body = own.to_bytes(2, "big") + (b"\0" if self.version == 5 else b"")
        body += b"".join(text(filter) + bytes([qos]) for filter in filters)
        self.socket.sendall(packet(SUBSCRIBE, 2, body))
        assert self.wait(lambda: own in self.acks)
        return self.reasons

    def unsubscribe(self, filter):
        own = self.next_id()
        self.socket.sendall(packet(UNSUBSCRIBE, 2, own.to_bytes(2, "big") + b"\0" + text(filter)))
        assert self.wait(lambda: own in self.acks)

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


def accounts(*arguments):
    """Runs compose/user; the password that it shows."""
    shown = subprocess.run(["compose/user", *arguments], check=True, capture_output=True, text=True).stdout
    found = re.search(r"password +([0-9a-f]{48})", shown)
    return found[1] if found else shown


def service(name, **options):
    return Client(name, open(f"data/secrets/{name}").read(), **options)


def topic(user, rest, shard="0e"):
    return f"pacebus/v1/{shard}/{user}/{SESSION}/{rest}"


def broker_id():
    return int(open("data/broker.pid").read())


def most_memory():
    status = open(f"/proc/{broker_id()}/status").read()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024


def check_memory():
    memory = most_memory()
    print(f"most memory of the broker: {memory:.0f} MiB")
    assert memory < 300, memory
    assert service("_operator").is_connected


def refused(body):
    try:
        body().close()
    except (PermissionError, ConnectionError):
        return True
    return False


class Victim:
    """Another account: its messages arrive while somebody attacks."""

    def __init__(self):
        self.client, self.service = Client("victim", accounts("add", "victim")), service("_session-engine")
        self.delays = []
        self.service.subscribe(topic("+", "command", "+"))

    def probe(self):
        count, begun = len(self.service.messages), time.monotonic()
        assert self.client.publish(topic("victim", "command")) == 0
        assert self.service.wait(lambda: len(self.service.messages) > count, 2), "a probe is lost"
        self.delays.append(time.monotonic() - begun)

    def probe_during(self, attack):
        """Runs the attack and probes meanwhile."""
        failures = []

        def run():
            try:
                attack()
            except Exception as error:  # The broker may have disconnected the attacker.
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        # A short attack can end before the first probe.
        self.probe()
        while thread.is_alive():
            time.sleep(0.05)
            self.probe()
        ordered = sorted(self.delays)
        p99 = ordered[int(len(ordered) * 0.99)]
        p50 = ordered[len(ordered) // 2]
        print(f"{len(ordered)} probes: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms;", *failures)
        assert p99 < 0.5, p99


def flood(client, total, size, make):
    """Sends packets at full speed without waiting for acknowledgements."""
    sent, pending, payload = 0, bytearray(), bytes(size)
    while sent < total and client.socket:
        pending += make(payload)
        sent += size
        if len(pending) > 1 << 20 or sent >= total:
            client.socket.settimeout(30)
            client.socket.sendall(pending)
            pending.clear()
            client.read(0)
    return sent


# MARK: Scenarios


def three_devices_flush_ten_hours_at_once():
    password, count = accounts("add", "anna"), 36
    item = b'{"c":1700000120.123,"h":132,"d":2.81,"k":0.21,"n":3,"p":245}'
    aggregator = service("_metrics-aggregator")
    aggregator.subscribe("pacebus/v1/+/+/+/samples/+")
    batch = b'{"s":36000,"x":[' + b",".join([item] * 1000) + b"]}"
    devices = [Client("anna", password) for _ in range(3)]
    sent = [0] * 3
    while min(sent) < count or any(len(device.acks) < count for device in devices):
        for index, device in enumerate(devices):
            while sent[index] < count and sent[index] - len(device.acks) < 20:
                device.socket.sendall(device.publish_packet(topic("anna", f"samples/watch-{index}"), batch, 1))
                sent[index] += 1
            device.read(0)
        aggregator.read(0)
    assert all(set(device.acks.values()) == {0} for device in devices)
    assert aggregator.wait(lambda: len(aggregator.messages) == 3 * count), len(aggregator.messages)


def a_client_with_retain_and_a_lasting_session_works():
    password, will = accounts("add", "anna"), (topic("anna", "locations/phone"), b"{}", 1, False)
    builder, engine = service("_route-builder"), service("_session-engine")
    builder.subscribe("pacebus/v1/+/+/+/locations/+")
    options = dict(name="anna-phone", version=4, clean=False, will=will)
    phone = Client("anna", password, **options)
    phone.subscribe(topic("anna", "state"))
    for index in range(50):
        assert phone.publish(topic("anna", "locations/phone"), b"%d" % index, retain=True) == 0
    assert builder.wait(lambda: len(builder.messages) == 50)
    phone.close()
    # Its will, which is not retained.
    assert builder.wait(lambda: len(builder.messages) == 51)
    for index in range(20):
        assert engine.publish(topic("anna", "state"), b"%d" % index, retain=True) in (0, 16)
    phone = Client("anna", password, **options)
    assert phone.session_present == 1
    assert phone.wait(lambda: len(phone.messages) >= 20), len(phone.messages)
    assert [payload for _, payload, _ in phone.messages][:20] == [b"%d" % index for index in range(20)]
    late = service("_operator")
    late.subscribe("pacebus/v1/+/anna/#")
    assert late.wait(lambda: late.messages)
    assert {found for found, _, _ in late.messages} == {topic("anna", "state")}, late.messages


def retained_messages_on_own_topics_stay_nowhere():
    victim, attacker = Victim(), Client("mallory", accounts("add", "mallory"))
    victim.probe_during(
        lambda: flood(
            attacker,
            1 << 30,
            250_000,
            lambda payload: attacker.publish_packet(
                topic("mallory", f"samples/d{attacker.next_id()}"), payload, 0, True
            ),
        )
    )
    check_memory()
    late = service("_operator")
    late.subscribe("pacebus/v1/+/mallory/#")
    assert not late.wait(lambda: late.messages, 1)


def an_own_offline_session_holds_little():
    password = accounts("add", "mallory")
    victim = Victim()
    for index in range(20):
        try:
            offline = Client("mallory", password, name=f"offline-{index}", clean=False, version=4)
            offline.subscribe(topic("mallory", f"samples/d{index}"))
            offline.close()
        except PermissionError:
            assert index == 16, index
            break
    attacker, count = Client("mallory", password), 0

    def make(payload):
        nonlocal count
        count += 1
        return attacker.publish_packet(topic("mallory", f"samples/d{count % 20}"), payload, 1)

    victim.probe_during(lambda: flood(attacker, 1 << 30, 50_000, make))
    check_memory()
    again = Client("mallory", password, name="offline-3", clean=False, version=4)
    again.wait(lambda: len(again.messages) >= 10)
    assert 10 <= len(again.messages) <= 30, len(again.messages)


def unread(qos, acknowledges_nothing=False):
    password = accounts("add", "mallory")
    victim, readers = Victim(), []
    for index in range(20):
        readers.append(Client("mallory", password, version=4))
        readers[-1].subscribe(topic("mallory", "samples/+"), qos)
    attackers, done = [Client("mallory", password) for _ in range(2)], False

    def drain():
        while not done:
            for reader in readers:
                if select.select([reader.socket], [], [], 0)[0]:
                    reader.socket.recv(1 << 20)

    thread = threading.Thread(target=drain)
    if acknowledges_nothing:
        thread.start()

    def attack():
        for round in range(12):
            for attacker in attackers:
                flood(
                    attacker,
                    20 << 20,
                    100_000,
                    lambda payload: attacker.publish_packet(
                        topic("mallory", f"samples/d{attacker.next_id()}"), payload, qos
                    ),
                )
            time.sleep(0.5)

    victim.probe_during(attack)
    done = True
    if acknowledges_nothing:
        thread.join()
    check_memory()


def clients_that_never_read_hold_little():
    unread(0)


def clients_that_never_read_qos_1_hold_little():
    unread(1)


def clients_that_never_acknowledge_hold_little():
    unread(1, acknowledges_nothing=True)


def a_flood_is_refused_until_it_ends():
    mallory, victim = Client("mallory", accounts("add", "mallory")), Victim()
    attack = [topic("mallory", "samples/watch"), b"{}"]

    def run():
        for _ in range(4):
            flood(mallory, 2 * 7_500, 2, lambda payload: mallory.publish_packet(*attack, 1))
            assert mallory.wait(lambda: len(mallory.acks) == mallory.id), "an acknowledgement is missing"

    victim.probe_during(run)
    reasons = list(mallory.acks.values())
    assert 20_000 <= reasons.count(0) + reasons.count(16) < 29_000 and reasons.count(0x87) > 1_000, len(reasons)
    time.sleep(1)
    assert mallory.publish(*attack) in (0, 16)


def connect_to_the_limit(user, password, limit):
    clients = [Client(user, password, name=f"{user}-{index}") for index in range(limit)]
    try:
        Client(user, password)
        assert False, "a connection too many"
    except PermissionError as refusal:
        # Without CONNACK: a refused login would say that the password is wrong.
        assert str(refusal) == f"{user}: CONNACK None", refusal
    return clients


def connections_are_bounded():
    password = accounts("add", "mallory")
    clients = connect_to_the_limit("mallory", password, 50)
    # A club shares one viewer.
    connect_to_the_limit("coach", accounts("add", "coach", "--viewer-of", "mallory"), 100)
    assert Client("mallory", password, name="mallory-7").is_connected
    assert clients[7].wait(lambda: not clients[7].is_connected, 2) and clients[8].is_connected
    clients[8].close()
    assert clients[9].publish(topic("mallory", "request")) in (0, 16)
    assert Client("mallory", password).is_connected


def accounts_change_while_a_fleet_runs():
    names = [f"fleet-{index}" for index in range(10)]
    passwords = {name: accounts("add", name) for name in names}
    fleet = [Client(name, passwords[name]) for name in names for _ in range(3)]
    fleet += [service("_session-engine"), service("_operator")]
    viewer = Client("coach", accounts("add", "coach", "--viewer-of", "fleet-0"))
    viewer.subscribe("pacebus/v1/+/fleet-0/#")
    changes, published = threading.Thread(target=lambda: [change() for _ in range(50)]), 0

    def change():
        accounts("add", "guest")
        accounts("remove", "guest")

    changes.start()
    while changes.is_alive():
        published += 1
        # A busy broker reads the files at any moment of a change.
        os.kill(broker_id(), signal.SIGSTOP)
        time.sleep(random.random() * 0.2)
        os.kill(broker_id(), signal.SIGCONT)
        for client in fleet:
            if client.user in names:
                assert client.publish(topic(client.user, "request")) in (0, 16)
            assert client.is_connected, client.user
        assert Client("fleet-1", passwords["fleet-1"]).is_connected
    assert viewer.is_connected and viewer.wait(lambda: len(viewer.messages) == 3 * published), len(viewer.messages)
    # At once, and again under the same name.
    guest = Client("guest", accounts("add", "guest"))
    accounts("remove", "guest")
    assert guest.wait(lambda: not guest.is_connected, 3)
    assert (
        Client("guest", accounts("add", "guest", "--viewer-of", "fleet-0")).publish(topic("guest", "request")) == 0x87
    )


def a_reload_of_the_broker_disconnects_no_client():
    password = accounts("add", "anna")
    options = dict(name="phone", version=4, clean=False)
    Client("anna", password, **options).close()
    clients = [Client("anna", password), service("_session-engine")]
    for _ in range(5):
        os.kill(broker_id(), signal.SIGHUP)
        for client in clients:
            time.sleep(0.2)
            rest = "command" if client.user == "anna" else "state"
            assert client.is_connected and client.publish(topic("anna", rest)) in (0, 16)
    assert Client("anna", password, **options).session_present == 1


def a_revoked_device_alone_is_disconnected():
    main, watch = accounts("add", "anna"), accounts("device", "add", "anna", "watch-3f9a")
    phone = accounts("device", "add", "anna", "phone")
    passwords = {"main": main, "watch": watch, "phone": phone}
    clients = {name: Client("anna", password) for name, password in passwords.items()}
    assert clients["watch"].publish(topic("anna", "command")) in (0, 16)
    assert "anna, devices: phone watch-3f9a" in accounts("list")
    accounts("device", "revoke", "anna", "watch-3f9a")
    assert clients["watch"].wait(lambda: not clients["watch"].is_connected, 3)
    assert refused(lambda: Client("anna", watch))
    renewed = accounts("password", "anna")
    assert clients["main"].wait(lambda: not clients["main"].is_connected, 3)
    assert refused(lambda: Client("anna", main)) and Client("anna", renewed).is_connected
    assert clients["phone"].is_connected and clients["phone"].publish(topic("anna", "command")) in (0, 16)


def services_passwords_rotate():
    engine, old = service("_session-engine"), open("data/secrets/_session-engine").read()
    accounts("rotate-services")
    new = open("data/secrets/_session-engine").read()
    assert new != old and len(new) == 48
    time.sleep(1.5)
    assert engine.is_connected
    assert Client("_session-engine", new).is_connected and Client("_session-engine", old).is_connected
    accounts("rotate-services")
    assert engine.wait(lambda: not engine.is_connected, 3) and refused(lambda: Client("_session-engine", old))
    assert service("_operator").is_connected


def retained_wills_are_refused():
    password, name = accounts("add", "anna"), topic("anna", "samples/watch")
    for version in (4, 5):
        watcher = service("_operator")
        watcher.subscribe(topic("anna", "#"))
        Client("anna", password, version=version, will=(name, b"kept", 1, True)).close()
        Client("anna", password, version=version, name="same", will=(name, b"kept", 1, True))
        Client("anna", password, version=version, name="same", will=(name, b"plain", 1, False)).close()
        assert watcher.wait(lambda: watcher.messages)
        assert [payload for _, payload, _ in watcher.messages] == [b"plain"], watcher.messages
    late = service("_operator")
    late.subscribe("pacebus/#")
    assert not late.wait(lambda: late.messages, 1), late.messages


def forged_topics_are_refused():
    anna = Client("anna", accounts("add", "anna"))
    for forged in (
        "rejected/anna",
        "services/anna/x",
        "u/anna/replies/command",
        "u/anna/replies/request",
        "u/anna/coach-request",
        "u/anna/replies/x",
        "rejected/anna/x/command",
        f"gg/anna/{SESSION}/command",
        f"0G/anna/{SESSION}/command",
        f"000/anna/{SESSION}/command",
        f"0/anna/{SESSION}/command",
        f"replies/anna/{SESSION}/command",
        f"00/bob/{SESSION}/command",
        f"00/annab/{SESSION}/command",
        "00/anna//command",
        "00/anna/command",
        "00/anna/x/samples/" + "y" * 300,
        f"00/anna/{SESSION}/samples/import",
        f"00/anna/{SESSION}/locations/import",
    ):
        assert anna.publish("pacebus/v1/" + forged) == 0x87, forged
    # Services report capitals to their publisher.
    for allowed in (
        topic("anna", "command"),
        topic("anna", "samples/watch", "ff"),
        "pacebus/v1/u/anna/request",
        topic("anna", "command", "0E"),
    ):
        assert anna.publish(allowed) in (0, 16), allowed
    assert anna.publish(topic("anna", "command"), qos=2) == 0x87
    long = b"\x26" + text("k") + text("v" * 1000)
    reader = service("_session-engine")
    reader.subscribe(topic("+", "command", "+"))
    assert anna.publish(topic("anna", "command"), properties=long) == 0
    assert reader.wait(lambda: reader.messages) and reader.messages[0][1] == b"{}"


def a_client_id_belongs_to_one_account():
    anna, mallory = accounts("add", "anna"), accounts("add", "mallory")
    phone = Client("anna", anna, name="phone")
    for _ in range(5):
        assert refused(lambda: Client("mallory", mallory, name="phone"))
    assert phone.is_connected
    Client("anna", anna, name="phone")
    assert phone.wait(lambda: not phone.is_connected, 2)


def wrong_passwords_slow_no_login():
    password, victim = accounts("add", "anna"), Victim()

    def attack():
        end = time.monotonic() + 5
        while time.monotonic() < end:
            assert refused(lambda: Client("anna", "wrong"))

    victim.probe_during(attack)
    assert refused(lambda: Client("anna", "wrong"))
    # Its first login, so no earlier one vouches for it.
    assert Client("anna", password, address="127.0.0.2").is_connected
    assert Client("anna", password).is_connected
    assert refused(lambda: Client("nobody", "wrong")) and refused(lambda: Client("anna", ""))

    def failures():
        with open("data/log/mosquitto.log") as log:
            return re.findall(r"Login failed: account (.*), address (.*); (\d+) since", log.read())

    # Once a second, so those of the attack are few lines.
    assert failures()[0] == ("anna", "127.0.0.1", "1") and len(failures()) < 15, failures()
    for name, shown in (("nobody", "nobody"), ("no/body", "with an invalid name")):
        while failures()[-1][:2] != (shown, "127.0.0.1"):
            assert refused(lambda: Client(name, "wrong"))


def a_password_that_is_not_checked_is_not_refused():
    """More passwords than one address may try at one time, so that one login exceeds the limit."""
    password, stored = accounts("add", "anna"), open("data/broker/passwords").read()
    [line] = [line for line in stored.splitlines() if line.startswith("anna:")]
    devices = "".join(f"anna/device-{index}{line[len('anna') :]}\n" for index in range(501))
    open("data/broker/passwords.new", "w").write(stored + devices)
    os.rename("data/broker/passwords.new", "data/broker/passwords")
    for user, reason in (("anna", None), ("nobody", 0x87)):
        try:
            Client(user, "wrong")
            assert False, f"{user}: a wrong password is accepted"
        except PermissionError as refusal:
            # Without CONNACK: a refused login would say that the password is wrong.
            assert str(refusal) == f"{user}: CONNACK {reason}", refusal
    assert Client("anna", password, address="127.0.0.2").is_connected
    assert Client("anna", password).is_connected


def operators_see_the_limits():
    password, operator = accounts("add", "mallory"), service("_operator")
    operator.subscribe("$SYS/pacebus/limited/#")
    mallory = Client("mallory", password)
    assert mallory.publish(topic("mallory", "command"), qos=2) == 0x87
    name = "$SYS/pacebus/limited/qos_2/mallory"
    assert operator.wait(lambda: (name, b"1", False) in operator.messages), operator.messages
    line = "Warning: limit reached: account mallory, limit qos_2, count 1"
    assert operator.wait(lambda: line in open("data/log/mosquitto.log").read())
    mallory.subscribe("$SYS/#")
    assert not mallory.wait(lambda: len(mallory.messages) > 1, 0.5)
    # No more than what the account itself is.
    assert [found for found, _, _ in mallory.messages] == ["$SYS/pacebus/accounts/mallory"], mallory.messages
    accounts("remove", "mallory")
    assert operator.wait(lambda: (name, b"", False) in operator.messages), operator.messages


def subscriptions_are_bounded():
    mallory, results = Client("mallory", accounts("add", "mallory")), []
    filters = [topic("mallory", f"samples/d{index}") for index in range(110)]
    for filter in filters:
        results.append(mallory.subscribe(filter))
    assert results == [1] * 100 + [0x87] * 10, results
    assert [mallory.subscribe(filter) for filter in filters[:100]] == [1] * 100
    for _ in range(3):
        mallory.unsubscribe(filters[0])
        assert mallory.subscribe(filters[105]) == 1 and mallory.subscribe(filters[0]) == 0x87
        mallory.unsubscribe(filters[105])
        assert mallory.subscribe(filters[0]) == 1
    other = Client("mallory", accounts("password", "mallory"))
    assert other.subscribe("$share/group/pacebus/#") == 0x87 and other.subscribe("x" * 300) == 0x87
    wide = [other.subscribe("pacebus/#") for _ in range(150)]
    assert wide.count(1) < 120 and wide[-1] == 0x87, wide


def subscriptions_of_an_account_are_bounded():
    password, filters = accounts("add", "anna"), [topic("anna", f"samples/d{index}") for index in range(100)]
    options = dict(name="phone", clean=False, expiry=600)
    phone, others = Client("anna", password, **options), [Client("anna", password) for _ in range(10)]
    assert phone.subscribe_all(filters[:50]) == [0] * 50
    granted = [other.subscribe_all(filters).count(0) for other in others]
    assert granted == [100] * 9 + [50], granted
    # A session keeps its subscriptions without a connection.
    phone.close()
    assert others[9].subscribe(filters[99]) == 0x87
    phone = Client("anna", password, **options)
    assert phone.session_present == 1 and phone.subscribe_all(filters[:51]) == [0] * 50 + [0x87]
    others[0].close()
    assert phone.wait(lambda: phone.subscribe(filters[99]) == 1)
    add_many(["ben", "cara"])
    coach = Client("coach", accounts("add", "coach", "--viewer-of", "anna", "ben", "cara"))
    seen = coach.subscribe_all([topic("anna", f"samples/d{index}") for index in range(120)])
    assert seen == [0] * 112 + [0x87] * 8, seen


def overlapping(user, count, rest):
    """Filters below the user's topics that match the same topic."""
    levels, found = topic(user, rest).split("/"), []
    for depth in range(len(levels), 3, -1):
        for wild in itertools.product((False, True), repeat=depth):
            filter = [
                level if level in ("pacebus", "v1", user) or not is_wild else "+"
                for level, is_wild in zip(levels, wild)
            ]
            found += ["/".join(filter + ["#"])] + ["/".join(filter)] * (depth == len(levels))
    found = list(dict.fromkeys(found))[:count]
    assert len(found) == count
    return found


class Readers:
    """Connections of a process of its own that read all they get as fast as they can."""

    def __init__(self, *arguments):
        self.granted, self.stopped = multiprocessing.Queue(), multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.run, args=arguments, daemon=True)
        self.process.start()
        self.granted = self.granted.get(timeout=20)

    def run(self, user, password, connections, filters):
        clients = [Client(user, password) for _ in range(connections)]
        poll, sockets = select.poll(), {client.socket.fileno(): client.socket for client in clients}
        self.granted.put(sum(client.subscribe_all(filters).count(0) for client in clients))
        for number in sockets:
            poll.register(number, select.POLLIN)
        while not self.stopped.is_set():
            for number, _ in poll.poll(50):
                try:
                    is_open = sockets[number].recv(1 << 20)
                except ConnectionError:
                    is_open = False
                if not is_open:
                    poll.unregister(number)

    def stop(self):
        self.stopped.set()
        self.process.join(5)


def copies_to_own_connections_are_bounded():
    password, filters = accounts("add", "mallory"), overlapping("mallory", 40, "samples/d")
    readers = [Readers("mallory", password, 24, filters) for _ in range(2)]
    victim, mallory, count = Victim(), Client("mallory", password), 1200
    assert sum(each.granted for each in readers) == 1000, [each.granted for each in readers]

    def attack():
        flood(mallory, count, 1, lambda payload: mallory.publish_packet(topic("mallory", "samples/d"), payload, 1))
        assert mallory.wait(lambda: len(mallory.acks) == count, 60)

    begun = time.monotonic()
    victim.probe_during(attack)
    accepted, seconds = list(mallory.acks.values()).count(0), time.monotonic() - begun
    print(f"{accepted} messages fanned out in {seconds:.1f} s")
    assert accepted > 0 and accepted * 1000 <= 20_000 + 1000 + 4_000 * (seconds + 0.1), accepted
    # The debt is soon paid.
    assert mallory.wait(lambda: mallory.publish(topic("mallory", "command")) in (0, 16))
    for each in readers:
        each.stop()


def subscribing_again_to_retained_messages_is_bounded():
    mallory, victim, engine = Client("mallory", accounts("add", "mallory")), Victim(), service("_session-engine")
    sessions = [f"{index:08x}-d9cb-469f-a165-70867728950e" for index in range(1200)]
    for session in sessions:
        engine.socket.sendall(engine.publish_packet(f"pacebus/v1/0e/mallory/{session}/state", b"{}", 0, True))
    engine.publish(topic("victim", "state"))
    filter, count, results = "pacebus/v1/+/mallory/+/state", 120, []

    def attack():
        results.extend(mallory.subscribe_all([filter] * count))

    begun = time.monotonic()
    victim.probe_during(attack)
    mallory.read()
    seconds = time.monotonic() - begun
    print(f"{len(mallory.messages)} messages, {results.count(0)} subscriptions in {seconds:.1f} s")
    assert 20_000 - 1200 < len(mallory.messages) <= 20_000 + 1200 + 4_000 * seconds, len(mallory.messages)
    # The account pays off its debt, and then gets everything.
    assert results[0] == 0 and results[-1] == 0x87
    mallory.messages.clear()
    assert mallory.wait(lambda: mallory.subscribe(filter, 0) == 0)
    assert mallory.wait(lambda: len(mallory.messages) == 1200), len(mallory.messages)


def the_newest_connections_close_if_services_messages_exceed_the_limit():
    password, filters = accounts("add", "mallory"), overlapping("mallory", 20, "metrics")
    clients, aggregator, victim = (
        [Client("mallory", password) for _ in range(49)],
        service("_metrics-aggregator"),
        Victim(),
    )
    assert all(client.subscribe_all(filters) == [0] * 20 for client in clients)
    victim.probe_during(
        lambda: flood(
            aggregator, 200, 1, lambda payload: aggregator.publish_packet(topic("mallory", "metrics"), payload, 0, True)
        )
    )
    assert clients[-1].wait(lambda: not clients[-1].is_connected, 5)
    assert refused(lambda: Client("mallory", password))
    assert clients[0].is_connected and clients[0].publish(topic("mallory", "command")) == 0x87
    assert sum(len(client.messages) for client in clients) <= 2 * 20_000 + 4_000 * 3
    assert clients[0].wait(lambda: clients[0].publish(topic("mallory", "command")) in (0, 16))
    assert clients[0].is_connected and Client("mallory", password).is_connected


def a_viewed_users_flood_hurts_no_viewer():
    runner, coach = accounts("add", "runner"), accounts("add", "coach", "--viewer-of", "runner")
    screens, engine, victim = [Client("coach", coach) for _ in range(3)], service("_session-engine"), Victim()
    for screen in screens:
        screen.subscribe("pacebus/v1/+/runner/#", 0)
    runner = Client("runner", runner)

    def attack():
        flood(runner, 15_000, 1, lambda payload: runner.publish_packet(topic("runner", "samples/d"), payload, 1))
        assert runner.wait(lambda: len(runner.acks) == 15_000)

    victim.probe_during(attack)
    assert screens[0].publish("pacebus/v1/u/runner/viewers/coach/request") in (0, 16)
    engine.publish(topic("runner", "state"), b"news", retain=True)
    for screen in screens:
        assert screen.wait(lambda: screen.messages and screen.messages[-1][1] == b"news"), len(screen.messages)
        assert len(screen.messages) <= 15_000 - 5_000, len(screen.messages)


def add_many(names):
    """Adds accounts with the password of the first."""
    password = accounts("add", names[0])
    stored = open("data/broker/passwords").read()
    [line] = [line for line in stored.splitlines() if line.startswith(names[0] + ":")]
    stored += "".join(name + line[len(names[0]) :] + "\n" for name in names[1:])
    open("data/broker/passwords.new", "w").write(stored)
    os.rename("data/broker/passwords.new", "data/broker/passwords")
    return password


def a_viewer_of_a_hundred_users_meets_no_limit():
    names = [f"user-{index}" for index in range(100)]
    add_many(names)
    password = accounts("add", "coach", "--viewer-of", *names)
    kinds = {"_session-engine": "state", "_metrics-aggregator": "metrics", "_route-builder": "route"}
    services = {service(name): kind for name, kind in kinds.items()}

    def publish(payload):
        for each, kind in services.items():
            for name in names:
                each.socket.sendall(each.publish_packet(topic(name, kind), payload, 0, True))
            assert each.publish(f"pacebus/v1/services/{each.user}/x") in (0, 16)

    publish(b"retained")
    screens = [Client("coach", password) for _ in range(5)]
    filters = [f"pacebus/v1/+/{name}/+/{kind}" for name in names for kind in (*kinds.values(), "weather", "activity")]
    for screen in screens:
        assert screen.subscribe_all(filters) == [0] * 500
    # As many as in 15 seconds.
    for _ in range(15):
        publish(b"live")
    for screen in screens:
        assert screen.wait(lambda: len(screen.messages) == 16 * 300), len(screen.messages)
        assert all(screen.publish(f"pacebus/v1/u/{name}/viewers/coach/request") in (0, 16) for name in names[:10])


def account_of(client):
    """What the broker publishes about the client's account."""
    client.subscribe(f"$SYS/pacebus/accounts/{client.user}")
    assert client.wait(lambda: any(found.startswith("$SYS/") for found, _, _ in client.messages)), client.user
    return json.loads([payload for found, payload, _ in client.messages if found.startswith("$SYS/")][-1])


def an_account_sees_the_last_use_of_its_devices():
    main, watch = accounts("add", "anna"), accounts("device", "add", "anna", "watch")
    accounts("device", "add", "anna", "phone")
    page = Client("anna", main)
    assert account_of(page)["devices"] == [{"device": "phone"}, {"device": "watch"}], account_of(page)

    def shown(device):
        seen = [json.loads(payload) for found, payload, _ in page.messages if found.startswith("$SYS/")][-1]
        return next((each for each in seen.get("devices", []) if each["device"] == device), None)

    began = int(time.time())
    worn = Client("anna", watch)
    assert page.wait(lambda: shown("watch").get("online"), 15)
    assert began <= shown("watch")["at"] <= time.time() and shown("phone") == {"device": "phone"}
    worn.close()
    assert page.wait(lambda: "online" not in shown("watch"), 15)
    used = shown("watch")
    # The last use outlasts other changes of the accounts.
    accounts("device", "add", "anna", "strap")
    assert page.wait(lambda: shown("strap")) and shown("watch") == used
    accounts("device", "revoke", "anna", "watch")
    assert page.wait(lambda: shown("watch") is None) and shown("phone")


def an_account_sees_the_last_use_of_its_browser_logins():
    password, phone = accounts("add", "anna"), accounts("device", "add", "anna", "phone")
    watcher = Client("anna", password)
    assert "logins" not in account_of(watcher)

    def connect(login, browser="Chrome_on_Android", password=password, began="1700000000123"):
        return Client("anna", password, f"page-{os.urandom(8).hex()}-{login}-{began}-{browser}")

    def shown():
        seen = [json.loads(payload) for found, payload, _ in watcher.messages if found.startswith("$SYS/")][-1]
        return {each.pop("login"): each for each in seen.get("logins", [])}

    home, lent = "a" * 32, "b" * 32
    began = int(time.time())
    tabs, other = [connect(home), connect(home)], connect(lent, "Safari_on_iPhone", phone)
    assert watcher.wait(lambda: len(shown()) == 2, 15)
    for login, browser in ((home, "Chrome_on_Android"), (lent, "Safari_on_iPhone")):
        at = shown()[login]["at"]
        assert began <= at <= time.time(), at
        assert shown()[login] == {"browser": browser, "began": 1700000000.123, "at": at, "online": True}, shown()
    # A login is online until its last page closes.
    tabs[0].close()
    other.close()
    assert watcher.wait(lambda: "online" not in shown()[lent], 15) and shown()[home]["online"]
    # The login of a revoked password is over.
    accounts("device", "revoke", "anna", "phone")
    assert watcher.wait(lambda: list(shown()) == [home], 15), shown()
    # Other client ids are no logins.
    for name in ("page-0123456789abcdef", f'page-0123456789abcdef-{home}-1-A"B', f"page-x-{lent}-1-Chrome"):
        Client("anna", password, name).close()
    for number in range(30):
        connect(f"{number:032x}").close()
    newest = [f"{number:032x}" for number in range(29, 9, -1)]
    assert watcher.wait(lambda: list(shown()) == newest, 15), shown()


def a_viewer_of_several_gains_and_loses_users_on_open_connections():
    names = [f"runner-{index}" for index in range(5)]
    runners = {name: Client(name, accounts("add", name)) for name in names}
    password = accounts("add", "coach", "--viewer-of", *names[:3])
    assert "coach, viewer of runner-0 runner-1 runner-2" in accounts("list")
    coach, engine = Client("coach", password), service("_session-engine")
    engine.subscribe("pacebus/v1/u/+/viewers/+/request")
    assert account_of(coach) == {"users": names[:3], "viewer": True}
    assert account_of(runners["runner-0"]) == {"users": ["runner-0"], "viewer": False}
    coach.subscribe("pacebus/v1/#")

    def sees():
        """Whose commands arrive now."""
        coach.messages.clear()
        for name, runner in runners.items():
            assert runner.publish(topic(name, "command")) in (0, 16)
        coach.wait(lambda: len([1 for found, _, _ in coach.messages if found.endswith("/command")]) > 4, 0.3)
        return [found.split("/")[3] for found, _, _ in coach.messages if found.endswith("/command")]

    def asks():
        """Whom the coach may send requests."""
        return [name for name in names if coach.publish(f"pacebus/v1/u/{name}/viewers/coach/request") in (0, 16)]

    assert sees() == asks() == names[:3]
    assert engine.wait(lambda: len(engine.messages) == 3)
    accounts("viewer", "add", "coach", "runner-4")
    assert coach.wait(lambda: any(b"runner-4" in payload for _, payload, _ in coach.messages))
    assert sees() == asks() == ["runner-0", "runner-1", "runner-2", "runner-4"]
    accounts("viewer", "remove", "coach", "runner-1")
    assert coach.wait(lambda: any(found.startswith("$SYS/") for found, _, _ in coach.messages))
    assert sees() == asks() == ["runner-0", "runner-2", "runner-4"]
    accounts("remove", "runner-4")
    assert runners["runner-4"].wait(lambda: not runners["runner-4"].is_connected, 3)
    del runners["runner-4"]
    assert sees() == asks() == ["runner-0", "runner-2"]
    # A later account of the same name is another person's.
    runners["runner-4"] = Client("runner-4", accounts("add", "runner-4"))
    assert sees() == asks() == ["runner-0", "runner-2"]
    for name in ("runner-0", "coach"):
        for forbidden in ("request", "profile", "replies/x", "rejected", "viewers/coach/request"):
            coach.messages.clear()
            assert (
                coach.publish(f"pacebus/v1/u/{name}/{forbidden}") == 0x87
                or forbidden.startswith("viewers")
                and name == "runner-0"
            )
            coach.wait(lambda: coach.messages, 0.05)
            assert not coach.messages, coach.messages
    assert coach.publish(topic("runner-0", "command")) == 0x87 and coach.publish(topic("coach", "command")) == 0x87
    assert coach.is_connected


def random_files_of_accounts_give_exactly_their_rights():
    """Files as compose/user writes them, in any order and with repetitions, that change while clients are connected."""
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print("seed", seed)
    draw = random.Random(seed)
    # Names that are prefixes of each other, and of any order.
    names = ["a", "aa", "ab", "a-", "a_", "b", "0", "zz", "a" * 64, "m"]
    people, watchers = names[:7], names[7:]
    password = accounts("add", "a")
    stored = open("data/broker/passwords").read()
    [line] = [line for line in stored.splitlines() if line.startswith("a:")]
    others = [line for line in stored.splitlines() if not line.startswith("a:")]
    open("data/broker/passwords.new", "w").write("\n".join(others + [name + line[1:] for name in names]) + "\n")
    os.rename("data/broker/passwords.new", "data/broker/passwords")
    time.sleep(1.5)
    clients = {name: Client(name, password) for name in names}
    for client in clients.values():
        client.subscribe("pacebus/v1/#")
        client.subscribe(f"$SYS/pacebus/accounts/{client.user}")
    rights, engine = dict.fromkeys(names), service("_session-engine")
    for round in range(20):
        views = {name: set(draw.sample(people, draw.randint(1, 7))) for name in watchers if draw.random() < 0.8}
        lines = [f"{name} {user}" for name, users in views.items() for user in users]
        # Repetitions, and accounts and users that do not exist.
        lines += draw.choices(lines, k=3) if lines else []
        lines += ["gone a", f"{watchers[0]} gone"] if watchers[0] in views else ["gone b"]
        draw.shuffle(lines)
        open("data/broker/viewers.new", "w").write("".join(line + "\n" for line in lines))
        os.rename("data/broker/viewers.new", "data/broker/viewers")
        if draw.random() < 0.3:
            os.kill(broker_id(), signal.SIGHUP)
        expected = {name: views.get(name, {name}) for name in names}
        published = {
            name: sorted(users | ({"gone"} if name == watchers[0] and name in views else set()))
            for name, users in expected.items()
        }

        def known(client):
            for where, payload, _ in client.messages:
                if where.startswith("$SYS/"):
                    rights[client.user] = json.loads(payload)
            return rights[client.user] == {"users": published[client.user], "viewer": client.user in views}

        for client in clients.values():
            assert client.wait(lambda: known(client), 3), (client.user, rights[client.user])
            client.messages.clear()
        for name in names:
            assert engine.publish(topic(name, "state")) in (0, 16)
            assert engine.publish(f"pacebus/v1/u/{name}/profile") in (0, 16)
            assert engine.publish(f"pacebus/v1/u/{name}/replies/x") in (0, 16)
        for name, client in clients.items():
            own = set() if name in views else {(name, "profile")}
            wanted = {(user, "state") for user in expected[name]} | own | {(name, "replies/x")}

            def seen():
                """Without the commands and requests that clients publish below."""
                found = [
                    (name.split("/")[3], name.split("/", 4)[4].replace(SESSION + "/", ""))
                    for name, _, _ in client.messages
                ]
                return [(user, rest) for user, rest in found if rest in ("state", "profile", "replies/x")]

            client.wait(lambda: len(seen()) >= len(wanted), 2)
            client.read(0.02)
            assert sorted(seen()) == sorted(wanted), (round, name, seen(), wanted)
            user = draw.choice(names)
            is_viewed = name in views and user in expected[name]
            assert (client.publish(f"pacebus/v1/u/{user}/viewers/{name}/request") in (0, 16)) == is_viewed
            assert (client.publish(topic(user, "command")) in (0, 16)) == (name not in views and user == name)
        for client in clients.values():
            client.read(0.01)
            client.messages.clear()
    assert all(client.is_connected for client in clients.values())


def viewers_of_a_hundred_take_little_memory():
    names = [f"user-{index}" for index in range(150)] + [f"coach-{index}" for index in range(1000)]
    password = add_many(names)
    time.sleep(2)
    before = most_memory()
    # 150 each: all above 100, by the order of the file, count for nothing.
    lines = [f"coach-{coach} user-{(coach + user) % 150}\n" for coach in range(1000) for user in range(150)]
    open("data/broker/viewers.new", "w").write("".join(lines))
    os.rename("data/broker/viewers.new", "data/broker/viewers")
    coach = Client("coach-999", password)
    assert account_of(coach)["users"] == sorted(f"user-{(999 + user) % 150}" for user in range(100))
    time.sleep(2)
    growth = most_memory() - before
    print(f"1,000 viewers of 100: {growth:.1f} MiB")
    assert growth < 30, growth
    assert "Error: 50000 lines in viewers ignored" in open("data/log/mosquitto.log").read()
    reading = [
        name for name in names[:150] if coach.publish(f"pacebus/v1/u/{name}/viewers/coach-999/request") in (0, 16)
    ]
    assert len(reading) == 100


if __name__ == "__main__":
    globals()[sys.argv[1]]()
