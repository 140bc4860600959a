"""Viewers that stop reading: plain, under TLS, and with HTTP/2."""

import concurrent.futures
import contextlib
import socket
import ssl
import threading
import time

from network import Bus, mqtt_connect, mqtt_packet, mqtt_text
from world import Person, metric, wait

SILENCE = 20


def frame(kind, flags, stream, body=b""):
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


def text(value):
    data = value.encode()
    assert len(data) < 127
    return bytes([len(data)]) + data


def secure(client, protocol):
    context = ssl._create_unverified_context()
    context.set_alpn_protocols([protocol])
    return context.wrap_socket(client, server_hostname="127.0.0.1")


class Viewer:
    """A connection that asks for a stream. It reads the first bytes, and then nothing, or everything without window."""

    def __init__(self, person, path, kind="plain"):
        client = socket.socket()
        # Small segments and buffers: the window is full after some kilobytes, as on a phone's network.
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(30)
        client.connect(("127.0.0.1", person.port))
        cookie = person.headers["Cookie"]
        if kind.startswith("http2"):
            client = secure(client, "h2")
            # Without window the server may send headers alone. With it TCP's window stops the server.
            window = 0 if kind == "http2 without window" else (1 << 31) - 1
            client.sendall(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"\x00\x04" + window.to_bytes(4, "big"))
            )
            if window:
                client.sendall(frame(8, 0, 0, ((1 << 31) - 1 - 65535).to_bytes(4, "big")))
            head = b"\x82\x87\x04" + text(path) + b"\x01" + text("127.0.0.1") + b"\x00" + text("cookie") + text(cookie)
            client.sendall(frame(1, 5, 1, head))
        else:
            if kind == "tls":
                client = secure(client, "http/1.1")
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
        self.client, self.first = client, client.recv(64)
        if kind == "http2 without window":
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Takes frames and answers none, no PING either."""
        with contextlib.suppress(OSError, ValueError):
            while self.client.recv(4096):
                pass


def viewers_that_stop_reading(world):
    """200 viewers stop reading: the limits hold, memory stays flat, another viewer gets everything, and they end."""
    world.start_broker()
    bus = Bus(world)
    world.start_service("session-engine")
    plain, secured = world.start_dashboard(), world.start_dashboard("secured", tls=True)
    first = Person(plain, "anna").logged_in()
    session = first.start()
    path = f"/live/anna/{session}/events"
    wait(lambda: bus.of(session, "state"), "the session begins")
    topic = next(name for name, _ in bus.messages if name.endswith(f"{session}/state"))[: -len("state")] + "route"
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        people = list(threads.map(lambda index: Person(plain, ["anna", "ben"][index % 2]).logged_in(), range(25)))
        protected = Person(secured, "anna").logged_in()
        witnesses = [first.stream(path), protected.stream(path)]
        for witness in witnesses:
            wait(lambda: witness.of("state"), "the witness watches")
        before = [dashboard.memory() for dashboard in (plain, secured)]
        stuck = list(threads.map(lambda index: Viewer(people[index // 8], path), range(200)))
        kinds = ["tls", "tls", "http2", "http2", "http2 without window", "http2 without window"]
        stuck += [Viewer(protected, path, kind) for kind in kinds]
    begun = time.monotonic()
    assert all(b"200" in viewer.first or viewer.first[3:4] == b"\x04" for viewer in stuck), [v.first for v in stuck]
    wait(lambda: (metric(plain, "streams"), metric(secured, "streams")) == (201, 7), "all watch", 15)
    answer = people[0].send("GET", path)
    assert answer.status == 503 and int(answer.headers["Retry-After"]) == 5, answer.status

    sent, most, ended = [], list(before), {}
    publisher, _ = mqtt_connect(world.port, "publisher")

    def publish():
        revision = 9_000_000_000_000 + len(sent)
        payload = b'{"revision":%d,"x":"%s"}' % (revision, b"x" * 150_000)
        sent.append((time.monotonic(), revision))
        publisher.sendall(mqtt_packet(0x30, mqtt_text(topic) + payload))

    def witnessed(witness):
        return {data["revision"]: at for at, name, data in list(witness.events) if name == "route"}

    while time.monotonic() < begun + SILENCE + 12 and len(ended) < 2:
        publish()
        wait(lambda: all(sent[-1][1] in witnessed(witness) for witness in witnesses), "all viewers are served", 5)
        # The next batch of a stream is due 250 ms later.
        wait(lambda: time.monotonic() > sent[-1][0] + 0.3, "the interval")
        most = [max(memory, dashboard.memory()) for memory, dashboard in zip(most, (plain, secured))]
        for dashboard, count in ((plain, 1), (secured, 1)):
            if metric(dashboard, "streams") == count:
                ended.setdefault(dashboard, time.monotonic() - begun)
    delays = sorted(witnessed(witness)[revision] - at for witness in witnesses for at, revision in sent)
    growth = [(after - memory) // 1024 for after, memory in zip(most, before)]
    print(f"viewers end after {[round(at) for at in ended.values()]} s; memory +{growth} MiB; p99 {delays[-2]:.3f} s")
    assert len(ended) == 2, (ended, metric(plain, "streams"), metric(secured, "streams"))
    assert min(ended.values()) > SILENCE - 6, ended
    assert max(growth) < 64, growth
    assert delays[-2] < 1.5, delays[-5:]
    # The login has room again.
    again = people[0].stream(path)
    assert again.status == 200 and wait(lambda: again.of("state"), "a new stream")
    bus.close()
