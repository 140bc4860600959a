"""Real processes for the dashboard's fault tests: a broker, session-engine, dashboards, and a proxy that swallows."""

import contextlib
import http.client
import json
import os
import pathlib
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[3]


def wait(condition, what, seconds=60):
    """Waits for a condition and returns its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.01)
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
    """A process that a fault hits: killed and started again on the same store and port, or stopped and continued."""

    def __init__(self, command, log, environment=None, port=None):
        self.command, self.log, self.port = list(map(str, command)), log, port
        self.environment = {**os.environ, **(environment or {})}
        self.start()

    def start(self):
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                cwd=self.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        if self.port:
            wait(lambda: accepts(self.port) or self.process.poll() is not None, f"{self.log.stem} listens")

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

    def text(self):
        return self.log.read_text(errors="replace")

    def memory(self):
        """Resident kilobytes."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


class World:
    """A broker, by default without passwords, and the services that a scenario starts. All end with it."""

    def __init__(self, executables, web, folder):
        self.executables, self.web, self.folder = executables, web, pathlib.Path(folder)
        self.folder.chmod(0o755)
        self.processes, self.port, self.passwords = [], free_port(), {}

    def run(self, name, command, environment=None, port=None):
        process = Process(command, self.folder / f"{name}.log", environment, port)
        self.processes.append(process)
        return process

    def start_broker(self, lines=("allow_anonymous true", "user root")):
        configuration = self.folder / "mosquitto.conf"
        more = [
            "persistence false",
            "max_inflight_messages 10000",
            "max_queued_messages 100000",
            "set_tcp_nodelay true",
        ]
        configuration.write_text("\n".join([f"listener {self.port} 127.0.0.1", *more, *lines, ""]))
        configuration.chmod(0o644)
        self.broker = self.run("mosquitto", ["mosquitto", "-c", configuration], port=self.port)

    def start_broker_with_accounts(self, people):
        """A broker with the installation's plugin and rules."""
        self.passwords = {
            name: secrets.token_hex(12) for name in [*people, "_session-engine", "_dashboard", "_operator"]
        }
        (self.folder / "passwords").write_text("".join(f"{name}:{word}\n" for name, word in self.passwords.items()))
        subprocess.run(["mosquitto_passwd", "-U", self.folder / "passwords"], check=True)
        (self.folder / "access.conf").write_text((ROOT / "compose/access.conf").read_text())
        (self.folder / "viewers").touch()
        subprocess.run(
            ["bash", "-c", 'source compose/common.sh; build_plugin "$1"', "bash", self.folder], cwd=ROOT, check=True
        )
        for name in ("passwords", "access.conf", "viewers"):
            (self.folder / name).chmod(0o644)
        for name, word in self.passwords.items():
            (self.folder / name).write_text(word)
            (self.folder / name).chmod(0o600)
        self.start_broker(
            [
                "allow_anonymous false",
                f"acl_file {self.folder}/access.conf",
                f"plugin {self.folder}/pacebus_plugin.so",
                f"plugin_opt_passwords {self.folder}/passwords",
                f"plugin_opt_viewers {self.folder}/viewers",
            ]
        )

    def start_service(self, service, name=None, *, broker=None, arguments=(), store=None, port=None):
        account = f"_{service}"
        environment = {"MQTT_URL": f"mqtt://{account}@127.0.0.1:{broker or self.port}"}
        if self.passwords:
            environment["MQTT_PASSWORD_FILE"] = str(self.folder / account)
        name = name or service
        arguments = [*arguments, "--store-url", f"sqlite:{store or self.folder}/{name}.sqlite"]
        return self.run(name, [self.executables / service, *arguments], environment, port)

    def start_dashboard(self, name="dashboard", *, tls=False, **more):
        port, health = free_port(), free_port()
        arguments = ["--web-port", port, "--web-folder", self.web, "--http-port", health]
        if tls:
            certificate, key = self.folder / "server.crt", self.folder / "server.key"
            subprocess.run(
                [
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                    "-nodes",
                    "-days",
                    "1",
                    "-subj",
                    "/CN=127.0.0.1",
                    "-addext",
                    "subjectAltName=IP:127.0.0.1",
                    "-keyout",
                    key,
                    "-out",
                    certificate,
                ],
                check=True,
                capture_output=True,
            )
            arguments += ["--tls-cert-file", certificate, "--tls-key-file", key]
        process = self.start_service("dashboard", name, arguments=arguments, port=port, **more)
        process.health, process.tls = health, tls
        return process

    def close(self, shows_logs):
        for process in reversed(self.processes):
            process.end()
        for process in self.processes:
            try:
                process.process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        for process in self.processes if shows_logs else []:
            print(f"== {process.log.name}", *process.text().splitlines()[-15:], sep="\n")


def run(scenarios):
    """Runs the scenario that the command line names, in a world of its own."""
    name, *folders = sys.argv[1:4]
    executables, web = (pathlib.Path(folder).resolve() for folder in folders)
    seed = sys.argv[4:]
    scenario = next(scenario for scenario in scenarios if scenario.__name__ == name)
    with tempfile.TemporaryDirectory() as folder:
        world, has_failed = World(executables, web, folder), True
        world.seed = int(seed[0]) if seed else 0
        try:
            scenario(world)
            has_failed = False
        finally:
            world.close(has_failed)


def metric(dashboard, name):
    """A value of /metrics, which the dashboard renews every 5 s."""
    connection = http.client.HTTPConnection("127.0.0.1", dashboard.health, timeout=10)
    connection.request("GET", "/metrics")
    for line in connection.getresponse().read().decode().splitlines():
        if line.startswith(f"pacebus_dashboard_{name} "):
            return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


class Answer:
    """A response; status 0 if there was none."""

    def __init__(self, status=0, headers=None, body=b""):
        self.status, self.headers, self.body = status, headers or {}, body


class Person:
    """A browser without a screen, which keeps its login and posts presses as a page does."""

    def __init__(self, dashboard, user="anna", password="any", port=None):
        self.dashboard, self.user, self.port, self.cookies = dashboard, user, port or dashboard.port, {}
        self.password = password

    def connect(self, timeout=10):
        if not self.dashboard.tls:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    @property
    def headers(self):
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Sec-Fetch-Site": "same-origin", "Cookie": cookies, "Sec-Fetch-Mode": "cors"}

    def send(self, method, path, body=None, kind=None, timeout=10):
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, {**self.headers, **({"Content-Type": kind} if kind else {})})
            response = connection.getresponse()
            for cookie in response.msg.get_all("Set-Cookie") or []:
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
            return Answer(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException):
            return Answer()
        finally:
            connection.close()

    def log_in(self):
        form = urllib.parse.urlencode({"name": self.user, "password": self.password})
        return self.send("POST", "/login", form, "application/x-www-form-urlencoded", timeout=30)

    def logged_in(self):
        wait(lambda: self.log_in().status == 303, f"{self.user} logs in")
        return self

    def post(self, path, press, timeout=10):
        age = max(0, time.time() - press["at"])
        return self.send("POST", path, json.dumps({**press, "age": age}), "application/json", timeout)

    def press(self, type, session, timeout=10, between=lambda attempt, answer: None, **fields):
        """Posts until the answer is final; returns the press and the reply."""
        path = "/commands" if type == "start" else f"/live/{self.user}/{session}/commands"
        fields = {"session": session, "activity": "running", "countdown": 0, **fields} if type == "start" else fields
        press = {"id": str(uuid.uuid4()), "type": type, "at": time.time(), **fields}
        for attempt in range(200):
            answer = self.post(path, press, timeout)
            if answer.status == 200:
                return press, json.loads(answer.body)["reply"]
            assert answer.status in (0, 202, 503), (type, answer.status, answer.body)
            between(attempt, answer)
            wait(lambda: accepts(self.port), "the dashboard listens")
        raise AssertionError(f"no answer to {type}")

    def start(self):
        session = str(uuid.uuid4())
        self.press("start", session)
        return session

    def stream(self, path):
        return Stream(self, path)


class Stream:
    """A viewer that reads."""

    def __init__(self, person, path):
        self.events, self.connection = [], person.connect(timeout=60)
        self.connection.request("GET", path, headers=person.headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Collects time, name and data of each event."""
        name = None
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            while line := self.response.readline().decode().rstrip("\n"):
                key, _, value = line.partition(": ")
                if key == "event":
                    name = value
                else:
                    self.events.append((time.monotonic(), name, json.loads(value)))
                    self.response.readline()

    def of(self, name):
        return [data for _, event, data in list(self.events) if event == name]
