"""A scripted APNs on a loopback port: HTTP/2 over TLS only.

Usage: apns_server.py FOLDER

The server creates FOLDER/AuthKey.p8, the key that signs provider tokens, and FOLDER/certificate.pem, its own certificate for
127.0.0.1 and localhost, unless the files exist. It writes its port to FOLDER/port, or reuses the port in that file. It answers
as FOLDER/script.json says, and appends a line to FOLDER/connections for each connection and to FOLDER/requests for each
request. The constants below name the key's identifier, the team and the app. Like APNs, it allows one request at a time until
a request has a valid provider token.

script.json is {"id": ..., "steps": [step, ...]}. Each request takes one step; the last step repeats. A new id starts again. A
step may have:
  "kind"       see below
  "status", "reason", "timestamp" (milliseconds), "headers"
  "body"       a text in place of the reason
  "now"        the server's time when it checks a token
  "device"     the step is for this token only; other tokens take the last step without one

Kinds:
  answer       the default: 200 for a documented request, else APNs's error; with a status, it checks nothing
  hang         no answer
  freeze       no answer to any further request of the connection
  reset        resets the stream
  close        closes the connection
  goaway       sends GOAWAY and answers earlier requests
  refuse       sends GOAWAY and answers nothing
  drip         sends the body byte by byte without an end

A line has "at" (Unix seconds), "connection" (its number), "path", "device", "token" (the provider token's number),
"headers", "payload" (of a Live Activity) or "notification" (an alert), "kind", "status", "reason", and "error", the
deviation from the documented protocol.
"""

import asyncio
import datetime
import ipaddress
import json
import os
import re
import socket
import ssl
import struct
import sys
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

FOLDER = sys.argv[1]
KEY_ID = "KEY1234567"
TEAM_ID = "TEAM123456"
APP = "org.example.workouts"
TOPICS = {"liveactivity": APP + ".push-type.liveactivity", "alert": APP}
STREAMS = 1000
SIZE_LIMIT = 4096
TOKEN_LIFE = 3600
PATH = re.compile(r"/3/device/([0-9a-fA-F]+)")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def path(name):
    return os.path.join(FOLDER, name)


def write_private(name, data):
    with open(os.open(path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def new_key(name):
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.PKCS8
    write_private(name, key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return key


def make_certificate():
    key = new_key("certificate.key")
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "APNs in a test")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private("certificate.pem", certificate.public_bytes(serialization.Encoding.PEM))


def public_key():
    """The key that signs provider tokens."""
    if not os.path.exists(path("AuthKey.p8")):
        new_key("AuthKey.p8")
    with open(path("AuthKey.p8"), "rb") as file:
        return serialization.load_pem_private_key(file.read(), None).public_key()


class Refusal(Exception):
    """The error of APNs for an invalid push."""

    def __init__(self, status, reason, error):
        super().__init__(reason)
        self.status, self.reason, self.error = status, reason, error


class Script:
    """The test's script, read again when its file changes."""

    def __init__(self):
        self.id, self.steps, self.next, self.changed = None, [], 0, None

    def step(self, device):
        changed = os.stat(path("script.json"))
        changed = (changed.st_ino, changed.st_mtime_ns)
        if changed != self.changed:
            with open(path("script.json")) as file:
                script = json.load(file)
            if script["id"] != self.id:
                self.id, self.steps, self.next = script["id"], script["steps"], 0
            self.changed = changed
        for step in self.steps:
            if step.get("device") == device:
                return step
        steps = [step for step in self.steps if "device" not in step]
        step = steps[min(self.next, len(steps) - 1)] if steps else {}
        self.next += 1
        return step


class Tokens:
    """Provider tokens. Each is verified once; its age is checked each time."""

    def __init__(self):
        self.key = public_key()
        self.claims = {}
        self.numbers = {}

    def number(self, header):
        """The number of a token among the different ones, from 1."""
        return self.numbers.setdefault(header, len(self.numbers) + 1)

    def check(self, header, now):
        if header is None:
            raise Refusal(403, "MissingProviderToken", "no authorization")
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Refusal(403, "InvalidProviderToken", "not a bearer token")
        if token not in self.claims:
            self.claims[token] = self.verified(token)
        issued = self.claims[token]
        if issued > now + 60:
            raise Refusal(403, "InvalidProviderToken", "issued in the future")
        if now - issued > TOKEN_LIFE:
            raise Refusal(403, "ExpiredProviderToken", f"issued {now - issued:.0f} s ago")

    def verified(self, token):
        """The token's time of issue."""
        try:
            head = jwt.get_unverified_header(token)
            options = {"verify_iat": False, "require": ["iss", "iat"]}
            claims = jwt.decode(token, self.key, algorithms=["ES256"], issuer=TEAM_ID, options=options)
        except jwt.PyJWTError as error:
            raise Refusal(403, "InvalidProviderToken", repr(error))
        if head.get("alg") != "ES256" or head.get("kid") != KEY_ID:
            raise Refusal(403, "InvalidProviderToken", f"header {head}")
        if type(claims["iat"]) is not int or set(claims) != {"iss", "iat"}:
            raise Refusal(403, "InvalidProviderToken", f"claims {claims}")
        return claims["iat"]


def wanted(condition, error, reason="BadMessage"):
    if not condition:
        raise Refusal(400, reason, error)


def is_scalar(value):
    return value is None or isinstance(value, (str, int, float, bool))


def is_number(value):
    return type(value) in (int, float)


def distinct(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key stands there twice")
    return fields


def no_number(text):
    raise ValueError(text + " is not JSON")


def check_headers(headers):
    wanted("apns-topic" in headers, "no apns-topic", "MissingTopic")
    wanted(headers["apns-topic"] in TOPICS.values(), headers["apns-topic"], "TopicDisallowed")
    wanted(headers["apns-topic"] == TOPICS.get(headers.get("apns-push-type")), "apns-push-type", "InvalidPushType")
    wanted(len(headers.get("apns-collapse-id", "")) <= 64, "apns-collapse-id", "BadCollapseId")
    wanted(headers.get("apns-priority") in ("5", "10"), "apns-priority", "BadPriority")
    wanted(re.fullmatch(r"\d+", headers.get("apns-expiration", "0")), "apns-expiration", "BadExpirationDate")
    wanted(UUID.fullmatch(headers.get("apns-id", "")), "apns-id", "BadMessageId")


def check_alert(aps):
    """Validates what an alert has, as UserNotifications documents it."""
    alert = aps.get("alert")
    wanted(type(alert) is dict and all(type(alert.get(key)) is str for key in ("title", "body")), "alert")
    wanted(aps.get("interruption-level") in ("passive", "active", "time-sensitive", "critical"), "interruption-level")
    wanted(type(aps.get("sound", "")) is str, "sound")
    wanted(not {"event", "content-state", "timestamp", "attributes"} & set(aps), "what only a Live Activity has")


def check_payload(body, kind):
    """Validates a push as ActivityKit documents it. APNs itself checks less."""
    wanted(body, "nothing", "PayloadEmpty")
    if len(body) > SIZE_LIMIT:
        raise Refusal(413, "PayloadTooLarge", f"{len(body)} bytes")
    try:
        payload = json.loads(body.decode(), object_pairs_hook=distinct, parse_constant=no_number)
        aps = payload["aps"]
        if kind == "alert":
            return check_alert(aps)
        event, state = aps["event"], aps["content-state"]
    except (ValueError, KeyError, TypeError) as error:
        raise Refusal(400, "BadMessage", repr(error))
    wanted(type(aps.get("timestamp")) is int, "timestamp")
    wanted(event in ("start", "update", "end"), "event")
    wanted(type(state) is dict and all(is_scalar(value) for value in state.values()), "content-state")
    for key in ("elapsedTime", "asOf"):
        wanted(is_number(state.get(key)), key)
    for key in ("isPaused", "isFinished"):
        wanted(type(state.get(key)) is bool, key)
    wanted(is_number(aps.get("relevance-score")), "relevance-score")
    for key in ("stale-date", "dismissal-date"):
        wanted(type(aps.get(key, 0)) is int, key)
    start = {"attributes-type", "attributes", "alert", "input-push-token"}
    if event == "start":
        wanted(start <= set(aps), "a start without all it needs")
        wanted(aps["attributes-type"] == "WorkoutWidgetAttributes", "attributes-type")
        attributes, alert = aps["attributes"], aps["alert"]
        wanted(set(attributes) == {"symbol", "workoutActivityType", "workoutName"}, "attributes")
        wanted(type(attributes["workoutActivityType"]) is int, "workoutActivityType")
        wanted(all(type(alert.get(key)) is str for key in ("title", "body")), "alert")
        wanted(aps["input-push-token"] == 1, "input-push-token")
    else:
        wanted(not start & set(aps), "what only a start has")
    wanted((event == "end") == ("dismissal-date" in aps), "dismissal-date")


class Request:
    def __init__(self, headers):
        self.headers = headers
        self.body = bytearray()


class Connection(asyncio.Protocol):
    count = 0
    script = Script()
    tokens = Tokens()
    log = open(path("requests"), "a", buffering=1)

    def connection_made(self, transport):
        Connection.count += 1
        self.number = Connection.count
        with open(path("connections"), "a") as file:
            file.write(f"{self.number}\n")
        self.transport = transport
        self.requests = {}
        self.frozen = False
        self.known = False
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.http.local_settings = h2.settings.Settings(
            client=False, initial_values={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1}
        )
        self.http.initiate_connection()
        self.flush()

    def data_received(self, data):
        if self.frozen:
            return
        try:
            events = self.http.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            print(repr(error), file=sys.stderr, flush=True)
            self.flush()
            return self.transport.close()
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self.requests[event.stream_id] = Request(dict(event.headers))
            elif isinstance(event, h2.events.DataReceived):
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.stream_id in self.requests:
                    self.requests[event.stream_id].body += event.data
            elif isinstance(event, h2.events.StreamReset):
                self.requests.pop(event.stream_id, None)
            if getattr(event, "stream_ended", None) and event.stream_id in self.requests:
                self.take(event.stream_id, self.requests.pop(event.stream_id))
                if self.transport.is_closing():
                    return
        self.flush()

    def flush(self):
        if not self.frozen and not self.transport.is_closing():
            self.transport.write(self.http.data_to_send())

    def take(self, stream, request):
        """Answers a complete request and records it."""
        headers = request.headers
        match = PATH.fullmatch(headers[":path"])
        device = match[1] if match else None
        step = self.script.step(device)
        line = {
            "at": time.time(),
            "connection": self.number,
            "path": headers[":path"],
            "device": device,
            "token": self.tokens.number(headers.get("authorization")),
            "headers": {name: value for name, value in headers.items() if name != "authorization"},
        }
        try:
            is_alert = headers.get("apns-push-type") == "alert"
            line["notification" if is_alert else "payload"] = json.loads(request.body)
        except ValueError:
            pass
        kind = step.get("kind", "answer")
        status, reason = step.get("status"), step.get("reason")
        if kind in ("answer", "goaway") and status is None:
            try:
                self.check(headers, match, bytes(request.body), step.get("now", line["at"]))
                status = 200
            except Refusal as refusal:
                status, reason = refusal.status, refusal.reason
                line["error"] = refusal.error
        line.update(status=status, reason=reason, kind=kind)
        self.log.write(json.dumps(line) + "\n")
        getattr(self, kind)(stream, step, status, reason)

    def check(self, headers, match, body, now):
        if headers[":method"] != "POST":
            raise Refusal(405, "MethodNotAllowed", headers[":method"])
        if not match:
            raise Refusal(404, "BadPath", headers[":path"])
        self.tokens.check(headers.get("authorization"), now)
        if not self.known:
            self.known = True
            self.http.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS})
        check_headers(headers)
        wanted(len(match[1]) >= 32 and len(match[1]) % 2 == 0, match[1], "BadDeviceToken")
        check_payload(body, headers["apns-push-type"])

    def head(self, stream, step, status, end):
        headers = [(":status", str(status))] + list(step.get("headers", {}).items())
        self.http.send_headers(stream, headers, end_stream=end)

    def body(self, step, reason):
        body = {"reason": reason}
        if "timestamp" in step:
            body["timestamp"] = step["timestamp"]
        return step["body"].encode() if "body" in step else json.dumps(body).encode()

    def answer(self, stream, step, status, reason):
        body = b"" if status == 200 and "body" not in step else self.body(step, reason)
        self.head(stream, step, status, end=not body)
        room = min(self.http.local_flow_control_window(stream), len(body))
        for begin in range(0, room, self.http.max_outbound_frame_size):
            self.http.send_data(stream, body[begin : min(begin + self.http.max_outbound_frame_size, room)])
        if body:
            self.http.end_stream(stream)

    def hang(self, stream, step, status, reason):
        pass

    def freeze(self, stream, step, status, reason):
        self.frozen = True

    def reset(self, stream, step, status, reason):
        self.http.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)

    def close(self, stream, step, status, reason):
        """Closes the connection with a reset."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def goaway(self, stream, step, status, reason):
        self.answer(stream, step, status, reason)
        self.http.close_connection(h2.errors.ErrorCodes.NO_ERROR, last_stream_id=stream)
        self.leave()

    def refuse(self, stream, step, status, reason):
        self.http.close_connection(h2.errors.ErrorCodes.NO_ERROR, last_stream_id=max(stream - 2, 0))
        self.leave()

    def leave(self):
        self.flush()
        self.transport.close()

    def drip(self, stream, step, status, reason):
        self.head(stream, step, status, end=False)

        def drop():
            if not self.transport.is_closing() and stream in self.http.streams:
                try:
                    self.http.send_data(stream, b" ")
                except h2.exceptions.ProtocolError:
                    return
                self.flush()
                loop.call_later(0.02, drop)

        drop()


async def main():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.set_alpn_protocols(["h2"])
    if not os.path.exists(path("certificate.pem")):
        make_certificate()
    tls.load_cert_chain(path("certificate.pem"), path("certificate.key"))
    port = 0
    if os.path.exists(path("port")):
        with open(path("port")) as file:
            port = int(file.read())
    server = await loop.create_server(Connection, "127.0.0.1", port, ssl=tls)
    with open(path("port.new"), "w") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    os.rename(path("port.new"), path("port"))
    await server.serve_forever()


loop = asyncio.new_event_loop()
loop.run_until_complete(main())
