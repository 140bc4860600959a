"""Ways to the broker: plain, over TLS, and over WebSocket and TLS. compose/chaos sets the ports."""

import base64
import os
import socket
import ssl

PLAIN, TLS, WSS = "plain", "TLS", "WSS"
ALL = [PLAIN, TLS, WSS]


class WebSocket:
    """A socket whose bytes travel in frames."""

    CONTINUATION, BINARY, CLOSE, PING, PONG = 0, 2, 8, 9, 10

    def __init__(self, connection):
        self.connection, self.buffer = connection, b""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET /mqtt HTTP/1.1",
            "Host: 127.0.0.1",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: mqtt",
            "",
            "",
        ]
        connection.sendall("\r\n".join(lines).encode())
        while b"\r\n\r\n" not in self.buffer:
            self.receive()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            connection.close()
            raise ConnectionError(head.split(b"\r\n")[0].decode())

    def receive(self):
        data = self.connection.recv(1 << 20)
        if not data:
            raise ConnectionError("closed")
        self.buffer += data

    def send_frame(self, kind, data):
        length = len(data)
        size = bytes([length | 128]) if length < 126 else b"\xfe" + length.to_bytes(2, "big")
        # A key of zeros leaves the bytes as they are.
        self.connection.sendall(bytes([128 | kind]) + size + bytes(4) + data)

    def sendall(self, data):
        for start in range(0, len(data), 1 << 15):
            self.send_frame(self.BINARY, bytes(data[start : start + (1 << 15)]))

    def take(self):
        """The next whole frame as kind and payload, or nothing."""
        if len(self.buffer) < 2:
            return None
        length, at = self.buffer[1] & 127, 2
        if length > 125:
            at = 4 if length == 126 else 10
            length = int.from_bytes(self.buffer[2:at], "big")
        if len(self.buffer) < at + length:
            return None
        taken = self.buffer[0] & 15, self.buffer[at : at + length]
        self.buffer = self.buffer[at + length :]
        return taken

    def recv(self, size):
        """All that has arrived, at least a byte; nothing at the end."""
        data = b""
        while not data:
            self.receive()
            while frame := self.take():
                kind, payload = frame
                if kind == self.CLOSE:
                    return data
                if kind == self.PING:
                    self.send_frame(self.PONG, payload)
                elif kind in (self.CONTINUATION, self.BINARY):
                    data += payload
        return data

    def pending(self):
        return getattr(self.connection, "pending", int)()

    def fileno(self):
        return self.connection.fileno()

    def settimeout(self, seconds):
        self.connection.settimeout(seconds)

    def close(self):
        self.connection.close()


def connect(transport, address="127.0.0.1"):
    """A connected socket from this loopback address."""
    setting = {PLAIN: "MQTT_PORT", TLS: "TLS_PORT", WSS: "WSS_PORT"}[transport]
    connection = socket.create_connection(("127.0.0.1", int(os.environ[setting])), 10, (address, 0))
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if transport != PLAIN:
            context = ssl.create_default_context(cafile="data/tls/ca.crt")
            connection = context.wrap_socket(connection, server_hostname="127.0.0.1")
        return WebSocket(connection) if transport == WSS else connection
    except BaseException:
        connection.close()
        raise
