"""Browsers at the dashboard's /mqtt, without a browser: dashboard_bus.py PORT TLS-PORT PID SEED, passwords as JSON on standard input.

PORT and TLS-PORT are those of two dashboards on one broker, PID the process id of the first. Prints what a scenario found.
"""

import base64
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

import h2.config
import h2.connection

port, tls_port, pid, seed = map(int, sys.argv[1:5])
passwords = json.load(sys.stdin)
chance = random.Random(seed)
ORIGIN = f"http://127.0.0.1:{port}"


def secure(client, protocol="http/1.1"):
    context = ssl._create_unverified_context()
    context.set_alpn_protocols([protocol])
    return context.wrap_socket(client, server_hostname="127.0.0.1")


def connect(to=port, timeout=30):
    client = socket.create_connection(("127.0.0.1", to), timeout)
    return secure(client) if to == tls_port else client


def request(method, path, headers=(), body="", to=port):
    """The status, the cookies that it sets and the body."""
    with connect(to) as client:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{to}",
            "Sec-Fetch-Site: same-origin",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *headers,
        ]
        client.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        answer = b""
        while part := client.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    cookies = [line.split(": ", 1)[1].split(";")[0] for line in lines if line.lower().startswith("set-cookie: ")]
    return int(lines[0].split()[1]), cookies, body


def log_in(user, to=port):
    form = urllib.parse.urlencode({"name": user, "password": passwords[user]})
    headers = ["Content-Type: application/x-www-form-urlencoded"]
    deadline = time.monotonic() + 60
    while (answer := request("POST", "/login", headers, form, to))[0] != 204:
        assert answer[0] == 503 and time.monotonic() < deadline, answer
    cookie = next(cookie for cookie in answer[1] if "-browser=" not in cookie)
    # A dashboard that has just started waits for session-engine.
    while request("GET", "/me", [f"Cookie: {cookie}"], to=to)[0] == 503:
        assert time.monotonic() < deadline, "not ready"
    return cookie


class Socket:
    """A WebSocket; `status` is that of the handshake."""

    def __init__(self, cookie=None, origins=(ORIGIN,), to=port, headers=(), timeout=30):
        self.client = connect(to, timeout)
        lines = [
            "GET /mqtt HTTP/1.1",
            f"Host: 127.0.0.1:{to}",
            "Upgrade: websocket",
            "Connection: keep-alive, Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Protocol: mqtt",
            *(f"Origin: {origin}" for origin in origins),
            *([f"Cookie: {cookie}"] if cookie else []),
            *headers,
        ]
        self.client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            part = self.client.recv(4096)
            if not part:
                break
            self.bytes += part
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        self.status = int(head.split()[1]) if head else 0

    def send(self, payload, opcode=2, fin=True):
        mask = os.urandom(4)
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.client.sendall(bytes([(0x80 if fin else 0) | opcode]) + size + mask + masked)

    def receive(self, count):
        while len(self.bytes) < count:
            part = self.client.recv(65536)
            if not part:
                return None
            self.bytes += part
        part, self.bytes = self.bytes[:count], self.bytes[count:]
        return part

    def next(self):
        """A payload, the code of a close, or `gone`."""
        head = self.receive(2)
        if head is None:
            return "gone"
        length = head[1]
        if length == 126:
            length = struct.unpack(">H", self.receive(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.receive(8))[0]
        payload = self.receive(length)
        return payload if head[0] == 0x82 else struct.unpack(">H", payload[:2])[0]

    def log_in(self, packet=None):
        self.send(packet or mqtt())
        return self.next()


def field(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(">H", len(data)) + data


def packet(first, body):
    length, sizes = len(body), []
    while True:
        sizes.append(length & 127 | (128 if length > 127 else 0))
        length >>= 7
        if not length:
            return bytes([first, *sizes]) + body


def mqtt(level=4, flags=2, properties=b"", fields=("page",), keep_alive=30):
    parts = b"".join(map(field, fields))
    version = bytes([len(properties)]) + properties if level == 5 else b""
    return packet(0x10, field("MQTT") + bytes([level, flags]) + struct.pack(">H", keep_alive) + version + parts)


ACCEPTED = b"\x20\x02\x00\x00"


def accepted(answer, level=4):
    return answer[0] == 0x20 and answer[3] == 0 if isinstance(answer, bytes) else False


def handshakes():
    """Who may use a cookie, and who is refused before MQTT."""
    anna = log_in("anna")
    own = Socket(anna)
    assert own.status == 101 and own.log_in() == ACCEPTED
    own.send(packet(0x82, b"\x00\x07" + field("pacebus/v1/u/anna/current") + b"\x00"))
    assert own.next() == b"\x90\x03\x00\x07\x00"
    for cookie, origins in (
        (anna, ["https://evil.example"]),
        (anna, ["null"]),
        (anna, [f"http://localhost:{port}"]),
        (anna, [f"https://127.0.0.1:{port}"]),
        (anna, [ORIGIN, "https://evil.example"]),
        (anna, [f"{ORIGIN}, https://evil.example"]),
    ):
        assert Socket(cookie, origins).status == 403, origins
    # A program has no origin. It needs a name and a password, whatever cookies it has.
    assert Socket(anna, []).log_in() == 4401
    assert Socket(None, []).log_in(mqtt(flags=0xC2, fields=("c", "anna", passwords["anna"]))) == ACCEPTED
    assert Socket(None).log_in() == 4401
    for headers in (["Sec-WebSocket-Version: 12"], ["Content-Length: 5"]):
        assert Socket(anna, headers=headers).status != 101, headers
    print("handshakes")


def packets():
    """Each CONNECT is the page's own, and nothing of it can name another."""
    anna = log_in("anna")
    for level, properties in ((4, b""), (5, b""), (5, b"\x11\xff\xff\xff\xff\x22\x00\x0a")):
        client = Socket(anna)
        for byte in mqtt(level, properties=properties)[:-1]:
            client.send(bytes([byte]))
        client.send(b"e" + packet(0x82, b"\x00\x01" + (b"\x00" if level == 5 else b"") + field("$SYS/x") + b"\x00"))
        answer = client.next()
        assert accepted(answer), level
        # One frame may have both answers.
        while b"\x90" not in answer:
            answer += client.next()
    # A will is left out: the broker would publish it in anna's name.
    assert Socket(anna).log_in(mqtt(flags=0x0E, fields=("c", "pacebus/v1/u/anna/request", "x"))) == ACCEPTED
    assert Socket(anna).log_in(mqtt(flags=0x82, fields=("c", "ben"))) == b"\x20\x02\x00\x05"
    assert Socket(anna).log_in(mqtt(flags=0xC2, fields=("c", "ben", passwords["anna"]))) == b"\x20\x02\x00\x05"
    for bad in (
        b"\x10\xff\xff\xff\x7f\x00\x04MQTT",
        b"\x30\x02\x00\x00",
        mqtt(level=3),
        mqtt(flags=3),
        mqtt(flags=0x82),
        mqtt(fields=("c", "anna")),
        packet(0x10, b"\x00\x04MQTT\x04\x02\x00\x1e\x00\x09c"),
    ):
        assert Socket(anna).log_in(bad) == 1002, bad
    two = Socket(anna)
    assert two.log_in() == ACCEPTED
    two.send(mqtt(flags=0xC2, fields=("c", "ben", passwords["ben"])))
    assert two.next() in (1000, "gone")
    text = Socket(anna)
    text.send(b"text", opcode=1)
    assert text.next() == 1003
    print("packets")


def cookies():
    """Only a whole cookie of this key that nobody has ended."""
    anna = log_in("anna")
    name, _, value = anna.partition("=")
    for changed in (
        value[:-5],
        value[5:],
        "",
        "x" * 4000,
        value[:40] + ("A" if value[40] != "A" else "B") + value[41:],
    ):
        assert Socket(f"{name}={changed}").log_in() == 4401, changed
    other = log_in("anna", tls_port)
    # Its name differs, and with it what the seal covers.
    assert Socket(f"pacebus={other.partition('=')[2]}").log_in() == 4401
    first, second = Socket(anna), Socket(log_in("anna"))
    assert first.log_in() == ACCEPTED and second.log_in() == ACCEPTED
    reader = json.loads(request("GET", "/me", [f"Cookie: {anna}"])[2])
    sign_out(first, "one", reader["login"])
    begun = time.monotonic()
    end = until_close(first)
    assert end == 4401, end
    assert time.monotonic() - begun < 1.5
    assert Socket(anna).log_in() == 4401 and request("GET", "/me", [f"Cookie: {anna}"])[0] == 401
    second.client.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        raise AssertionError(second.next())
    second.client.settimeout(30)
    sign_out(second, "all")
    end = until_close(second)
    assert end == 4401, end
    assert Socket(log_in("anna")).log_in() == ACCEPTED
    print("cookies")


def sign_out(client, kind, login=None):
    message = {"id": "6f9619ff-8b86-d011-b42d-%012x" % chance.getrandbits(48), "type": kind, "client": "tests"}
    if login:
        message["login"] = login
    client.send(packet(0x30, field("pacebus/v1/u/anna/sign-out") + json.dumps(message).encode()))


def until_close(client):
    while isinstance(answer := client.next(), bytes):
        pass
    return answer


def crowds():
    """One account's connections, and 1,000 sockets without CONNECT, keep nobody out; what never ends, ends."""
    anna, ben = log_in("anna"), log_in("ben")
    open_sockets = [Socket(anna) for _ in range(50)]
    answers = [client.log_in() for client in open_sockets]
    # The broker lets an account have 50 as well.
    assert answers.count(ACCEPTED) >= 45, answers
    assert Socket(anna).log_in() == 4429
    assert Socket(ben).log_in() == ACCEPTED
    for client in open_sockets:
        client.client.close()
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        silent = list(threads.map(lambda _: Socket(None, []), range(1000)))
    half = connect()
    half.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    body = connect()
    body.sendall(
        f"POST /login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 9\r\n\r\nn".encode()
    )
    endless = Socket(None, [])
    endless.send(b"\x10", fin=False)
    at = time.monotonic()
    assert Socket(ben).log_in() == ACCEPTED and request("GET", "/login")[0] in (200, 503)
    assert time.monotonic() - at < 5, time.monotonic() - at
    ends = [
        until_end(client) - begun for client in (half, body, endless.client, *(each.client for each in silent[:20]))
    ]
    assert all(9 < end < 25 for end in ends), ends
    for each in silent:
        each.client.close()
    print("crowds")


def until_end(client):
    with contextlib.suppress(ConnectionResetError):
        while client.recv(4096):
            pass
    return time.monotonic()


def stalls():
    """Responses that nobody takes end their connection after 20 s, over HTTP/2 too."""
    reader = json.loads(request("GET", "/me", [f"Cookie: {log_in('anna')}"])[2])
    path = f"/assets/{reader['version']}/modules/live.js"
    if request("GET", path)[0] != 200:
        return print("stalls")
    clients = []
    for _ in range(20):
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        connection.initiate_connection()
        connection.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
        for stream in range(1, 40, 2):
            head = [(":method", "GET"), (":path", path), (":scheme", "https"), (":authority", f"127.0.0.1:{tls_port}")]
            connection.send_headers(stream, head, end_stream=True)
        client = secure(socket.create_connection(("127.0.0.1", tls_port), 60), "h2")
        client.sendall(connection.data_to_send())
        clients.append(client)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(20) as threads:
        ends = [end - begun for end in threads.map(until_end, clients)]
    assert all(15 < end < 35 for end in ends), ends
    print("stalls")


def pipelines():
    """40 connections that ask without a pause delay a login by a second or two, not longer."""
    isOver = threading.Event()

    def ask():
        with contextlib.suppress(OSError):
            client = connect()
            client.settimeout(1)
            while not isOver.is_set():
                client.sendall(b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 100)
                with contextlib.suppress(TimeoutError):
                    client.recv(65536)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(40)]
    for thread in threads:
        thread.start()
    time.sleep(3)
    begun = time.monotonic()
    status, _, _ = request("GET", "/me")
    took = time.monotonic() - begun
    isOver.set()
    assert status in (401, 429) and took < 5, (status, took)
    print("pipelines")


def noise():
    """No bytes end the process, and others are served."""
    anna = log_in("anna")
    for _ in range(300):
        client = Socket(anna, timeout=5)
        data = bytearray(
            mqtt(chance.choice([4, 5]), chance.randrange(256), b"", ["x" * chance.randrange(30)] * chance.randrange(5))
        )
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with contextlib.suppress(OSError):
            client.send(bytes(data), chance.choice([0, 1, 2, 2, 2, 8, 9, 10, 11]), chance.random() < 0.9)
            client.client.sendall(os.urandom(chance.randrange(200)))
        client.client.close()
    assert Socket(anna).log_in() == ACCEPTED
    print("noise")


def end_of_process():
    """Pages hear at once that the server goes."""
    client = Socket(log_in("ben"))
    assert client.log_in() == ACCEPTED
    begun = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    assert until_close(client) == 1001
    assert time.monotonic() - begun < 3
    print("end")


assert pathlib.Path(f"/proc/{pid}").exists()
handshakes()
packets()
cookies()
crowds()
stalls()
pipelines()
noise()
end_of_process()
