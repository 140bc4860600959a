"""The broker's messages, and a network that fails."""

import contextlib
import json
import socket
import subprocess
import threading
import uuid


class Bus:
    """All messages of a broker, across its restarts."""

    def __init__(self, world):
        self.messages, self.world = [], world
        self.process = subprocess.Popen(
            ["mosquitto_sub", "-p", str(world.port), "-q", "1", "-t", "#", "-F", "%t %p"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            topic, _, payload = line.rstrip("\n").partition(" ")
            with contextlib.suppress(ValueError):
                self.messages.append((topic, json.loads(payload)))

    def of(self, session, last):
        return [payload for topic, payload in list(self.messages) if session in topic and topic.endswith(f"/{last}")]

    def replies(self, id):
        return [payload for topic, payload in list(self.messages) if "/replies/" in topic and payload.get("id") == id]

    def close(self):
        self.process.terminate()
        self.process.wait()


class Proxy:
    """A network between a client and a port. It can swallow: take bytes and pass nothing on, without closing anything."""

    def __init__(self, target):
        self.target, self.swallowed = target, set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def swallow(self, *directions):
        """`up` to the server, `down` to the client. Connections of that time never recover; later ones pass."""
        self.swallowed = set(directions)

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            with contextlib.suppress(OSError):
                server = socket.create_connection(("127.0.0.1", self.target))
                dead = set(self.swallowed)
                for source, sink, direction in ((client, server, "up"), (server, client, "down")):
                    threading.Thread(target=self.pump, args=(source, sink, direction, dead), daemon=True).start()
                continue
            client.close()

    def pump(self, source, sink, direction, dead):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                dead |= self.swallowed
                if direction not in dead:
                    sink.sendall(data)
            if not dead:
                sink.shutdown(socket.SHUT_WR)
                return
        if not dead:
            for end in (source, sink):
                end.close()


def mqtt_text(value):
    data = value.encode() if isinstance(value, str) else value
    return len(data).to_bytes(2, "big") + data


def mqtt_packet(kind, body):
    length, size = b"", len(body)
    while True:
        size, byte = divmod(size, 128)
        length += bytes([byte | (128 if size else 0)])
        if not size:
            return bytes([kind]) + length + body


def mqtt_connect(port, user, password=""):
    """A connection; its socket is closed if the broker refuses it."""
    client = socket.create_connection(("127.0.0.1", port), 10)
    body = mqtt_text("MQTT") + bytes([4, 0xC2, 0, 0]) + mqtt_text(f"{user}-{uuid.uuid4()}") + mqtt_text(user)
    client.sendall(mqtt_packet(0x10, body + mqtt_text(password)))
    answer = b""
    with contextlib.suppress(ConnectionError):
        answer = client.recv(4)
    if len(answer) < 4 or answer[3] != 0:
        client.close()
    return client, answer
