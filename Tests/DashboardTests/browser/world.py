"""What pages need: a real mosquitto with the plugin, the real dashboard, and a publisher that plays the services.

The environment names the dashboard's executable (DASHBOARD) and the folder of its pages (WEB_FOLDER).
"""

import atexit
import concurrent.futures
import contextlib
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import paho.mqtt.client as paho
from browser import TIMEOUT

ROOT = pathlib.Path(__file__).resolve().parents[3]
PEOPLE = ["anna", "ben", "carla", "dora", "emil"]
OTHERS = ["paul", "cleo"]
RUNNERS = [f"runner-{number:02}" for number in range(1, 21)]
VIEWERS = {"coach": PEOPLE, "trainer": RUNNERS}
SERVICES = ["session-engine", "metrics-aggregator", "route-builder", "weather-fetcher", "exporter", "virtual-run"]


def wait(condition, what, seconds=TIMEOUT):
    """Waits for a condition and returns its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(f"not in {seconds} s: {what}")
        time.sleep(0.02)
    return value


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Process:
    """A process that a fault hits: killed and started again on the same port, or stopped and continued."""

    def __init__(self, command, port, log, environment):
        self.command, self.port, self.log, self.environment = command, port, log, {**os.environ, **environment}
        self.start()

    def start(self):
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        wait(lambda: accepts(self.port) or self.process.poll() is not None, f"{self.command[0]} listens")
        if self.process.poll() is not None:
            raise SystemExit(self.log.read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        if self.process.poll() is None:
            self.thaw()
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


class World:
    """All end with it. `presses` are what pages sent, with their topics; `answers` says what is answered, by type."""

    def __init__(self, **settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pacebus-"))
        self.folder.chmod(0o755)
        self.lock, self.presses, self.topics = threading.Lock(), [], set()
        self.answers, self.outcomes, self.worker = {}, {}, concurrent.futures.ThreadPoolExecutor(1)
        self.passwords = {name: secrets.token_hex(8) for name in [*PEOPLE, *OTHERS, *RUNNERS, *VIEWERS, "_operator"]}
        self.processes = []
        self.start_broker()
        self.client = self.connect(self.broker.port)
        self.renewed = threading.Event()
        self.online = set(SERVICES)
        threading.Thread(target=self.renew, daemon=True).start()
        self.start_dashboard(settings)
        atexit.register(self.end)

    def connect(self, port):
        """A publisher that is connected to a broker, and receives what pages send."""
        client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
        client.username_pw_set("_publisher", "publisher")
        client.max_inflight_messages_set(1000)
        client.reconnect_delay_set(1, 1)
        ready = threading.Event()
        client.on_connect = lambda client, *_: client.subscribe(
            [
                (f"pacebus/v1/{levels}", 1)
                for levels in (
                    "+/+/+/command",
                    "+/+/+/request",
                    "u/+/request",
                    "u/+/run-request",
                    "u/+/sign-out",
                    "u/+/viewers/+/request",
                )
            ]
        )
        client.on_subscribe = lambda *_: ready.set()
        client.on_message = self.receive
        client.connect("127.0.0.1", port, keepalive=10)
        client.loop_start()
        wait(ready.is_set, "the publisher is connected")
        return client

    def clients_of(self, topic):
        """The publishers at the brokers that have a topic."""
        return [self.client]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.renewed.set()
        for process in reversed(self.processes):
            process.end()
        self.client.loop_stop()

    # The broker.

    def start_broker(self):
        folder = self.folder
        passwords = {**self.passwords, "_dashboard": "dashboard", "_publisher": "publisher"}
        (folder / "passwords").write_text("".join(f"{name}:{word}\n" for name, word in passwords.items()))
        subprocess.run(["mosquitto_passwd", "-U", folder / "passwords"], check=True)
        access = (ROOT / "compose/access.conf").read_text()
        (folder / "access.conf").write_text(access + "\nuser _publisher\ntopic readwrite pacebus/#\n")
        (folder / "viewers").write_text(
            "".join(f"{viewer} {user}\n" for viewer, users in VIEWERS.items() for user in users)
        )
        plugin = ["bash", "-c", 'source compose/common.sh; source compose/broker.sh; build_plugin "$1"', "bash", folder]
        subprocess.run(plugin, cwd=ROOT, check=True)
        (folder / "dashboard").write_text("dashboard")
        (folder / "login.key").write_text(secrets.token_hex(32))
        for name in ("passwords", "access.conf", "viewers"):
            (folder / name).chmod(0o644)
        for name in ("dashboard", "login.key"):
            (folder / name).chmod(0o600)
        port = free_port()
        settings = (ROOT / "compose/mosquitto.conf").read_text().replace("persistence true", "persistence false")
        lines = [
            f"listener {port} 127.0.0.1",
            "user root",
            f"acl_file {folder}/access.conf",
            f"plugin {folder}/pacebus_plugin.so",
            f"plugin_opt_passwords {folder}/passwords",
            f"plugin_opt_viewers {folder}/viewers",
        ]
        (folder / "mosquitto.conf").write_text(settings + "\n".join(lines) + "\n")
        (folder / "mosquitto.conf").chmod(0o644)
        self.broker = self.run(["mosquitto", "-c", folder / "mosquitto.conf"], port, {})

    def run(self, command, port, environment):
        process = Process(
            list(map(str, command)), port, self.folder / f"{pathlib.Path(command[0]).name}.log", environment
        )
        self.processes.append(process)
        return process

    def view(self, viewer, users):
        """Changes whom a viewer's account may see."""
        lines = (self.folder / "viewers").read_text().splitlines()
        lines = [line for line in lines if not line.startswith(f"{viewer} ")] + [f"{viewer} {user}" for user in users]
        (self.folder / "viewers").write_text("".join(f"{line}\n" for line in lines))
        self.broker.process.send_signal(signal.SIGHUP)

    def set_password(self, account, password):
        """A changed password, or with `None` a removed account."""
        lines = [
            line for line in (self.folder / "passwords").read_text().splitlines() if not line.startswith(f"{account}:")
        ]
        (self.folder / "passwords").write_text("".join(f"{line}\n" for line in lines))
        if password:
            subprocess.run(["mosquitto_passwd", "-b", self.folder / "passwords", account, password], check=True)
        (self.folder / "passwords").chmod(0o644)
        self.broker.process.send_signal(signal.SIGHUP)

    # The dashboard.

    def start_dashboard(self, settings):
        port = free_port()
        environment = {
            "MQTT_URL": f"mqtt://_dashboard@127.0.0.1:{self.broker.port}",
            "MQTT_PASSWORD_FILE": str(self.folder / "dashboard"),
            "LOGIN_KEY_FILE": str(self.folder / "login.key"),
            "WEB_PORT": str(port),
            "WEB_FOLDER": os.environ["WEB_FOLDER"],
            "HTTP_PORT": "0",
            **settings,
        }
        self.dashboard = self.run([os.environ["DASHBOARD"]], port, environment)
        self.url = f"http://127.0.0.1:{port}"
        wait(lambda: self.cookie("anna"), "the dashboard knows which logins have ended")

    def cookie(self, user):
        """The value of a login's cookie, once it is accepted."""
        form = urllib.parse.urlencode({"name": user, "password": self.passwords[user]}).encode()
        request = urllib.request.Request(self.url + "/login", form, {"Sec-Fetch-Site": "same-origin"})
        with contextlib.suppress(OSError), urllib.request.urlopen(request) as answer:
            cookies = [line.split(";")[0] for line in answer.headers.get_all("Set-Cookie")]
            cookie = next(cookie for cookie in cookies if cookie.startswith("pacebus="))
            me = urllib.request.Request(self.url + "/me", headers={"Cookie": cookie})
            with urllib.request.urlopen(me):
                return cookie.partition("=")[2]

    def context(self, browser, user, **options):
        """A new context of the browser, with a login."""
        context = browser.new_context(**options)
        self.log_in(context, user)
        return context

    def log_in(self, context, user):
        cookie = wait(lambda: self.cookie(user), f"{user} logs in")
        context.add_cookies([{"name": "pacebus", "value": cookie, "url": self.url}])

    # The services.

    def renew(self):
        """Presences, as long as the world lasts."""
        while True:
            for service in SERVICES:
                self.announce(service)
            if self.renewed.wait(15):
                return

    def announce(self, service):
        status = "online" if service in self.online else "offline"
        topic = f"pacebus/v1/services/_{service}/{service}-0123456789abcdef"
        payload = {"status": status, "at": time.time(), "service": service, "shards": "00-ff", "version": "1.0.0"}
        for client in self.clients_of(topic):
            client.publish(topic, json.dumps(payload), qos=1, retain=True)

    def set_online(self, service, is_online):
        (self.online.add if is_online else self.online.discard)(service)
        self.announce(service)

    def publish(self, messages):
        """Publishes topics with payloads and waits for the broker; `None` clears a topic."""
        sent = []
        for topic, payload in messages:
            if not topic.endswith("/announcements"):
                self.topics.add(topic)
            text = b"" if payload is None else json.dumps(payload)
            for client in self.clients_of(topic):
                sent.append(client.publish(topic, text, qos=1, retain=topic in self.topics))
        for message in sent:
            # Without a connection the client keeps a message and sends it once there is one; its code stays.
            if message.rc == paho.MQTT_ERR_NO_CONN:
                message.rc = paho.MQTT_ERR_SUCCESS
            message.wait_for_publish(TIMEOUT)
            assert message.is_published(), "the broker did not take a message"

    def receive(self, client, _, message):
        with contextlib.suppress(ValueError):
            press = json.loads(message.payload)
            with self.lock:
                self.presses.append((message.topic, press))
            # Not here: an answer may publish, and wait for the broker.
            self.worker.submit(self.answer, message.topic, press)

    def answer(self, topic, press):
        """By type: a reply, or its fields by a function of topic and message; else nothing, but for what pages always ask."""
        usual = {"workouts": {"workouts": []}, "all": {}, "one": {}, "runs": {"runs": []}}
        answer = self.outcomes.get(press.get("id")) or self.answers.get(press.get("type"), usual.get(press.get("type")))
        if callable(answer):
            answer = answer(topic, press)
        if answer is None or "client" not in press:
            return
        self.reply(topic, press, answer)

    def reply(self, topic, press, answer):
        levels = topic.split("/")
        user = levels[5] if levels[4:5] == ["viewers"] else levels[3]
        reply = {"id": press["id"], "ok": "error" not in answer, "now": time.time(), **answer}
        topic = f"pacebus/v1/u/{user}/replies/{press['client']}"
        for client in self.clients_of(topic):
            client.publish(topic, json.dumps(reply), qos=1)

    def answer_newest(self, **answer):
        """The reply to what a page sent last, each time that it sends it."""
        wait(lambda: (sent := self.sent()) and sent[-1]["id"] not in self.outcomes, "a press without an answer")
        id = self.sent()[-1]["id"]
        with self.lock:
            self.outcomes[id] = answer
            sent = {press["client"]: (topic, press) for topic, press in self.presses if press["id"] == id}
        for topic, press in sent.values():
            self.reply(topic, press, answer)

    def sent(self, *types):
        """The presses that pages sent, each once; or the messages of some types."""
        with self.lock:
            found = [press for _, press in self.presses if press.get("type") in types or (not types and "at" in press)]
        return list({press["id"]: press for press in found}.values())

    def topic_of(self, press):
        with self.lock:
            return next(topic for topic, each in self.presses if each["id"] == press["id"])

    def reset(self):
        """Forgets what pages sent, answers as usual, and clears all topics."""
        with self.lock:
            self.presses.clear()
        self.answers = {}
        self.publish([(topic, None) for topic in sorted(self.topics)])
        self.topics.clear()
        for service in SERVICES:
            self.set_online(service, True)


def run(scenarios, make=World, **settings):
    """Runs functions of a world and its faults, each of which finds nothing."""
    from browser import Faults, chromium

    with make(**settings) as world, chromium() as browser:
        faults = Faults(world)
        for scenario in scenarios:
            begun = time.monotonic()
            scenario(world, browser, faults)
            world.reset()
            print(f"{scenario.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        faults.finish()
