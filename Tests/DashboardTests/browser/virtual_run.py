"""Two browsers and two simulated runners in a virtual run, from the invitation to the results, with a real broker and real
services: virtual_run.py EXECUTABLES WEB_FOLDER.
"""

import contextlib
import os
import pathlib
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time

from browser import DESKTOP, PHONE, Faults, Server, chromium, screenshot

EXECUTABLES, WEB = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVICES = ["session-engine", "metrics-aggregator", "route-builder", "virtual-run", "dashboard"]
PEOPLE = ["anna", "ben"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


class System:
    """A broker with the installation's access rules, and the services; all end with it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o755)
        self.processes = []
        self.passwords = {account: secrets.token_hex(12) for account in [*PEOPLE, *("_" + name for name in SERVICES)]}
        self.port, self.web_port = free_port(), free_port()

    def start(self):
        lines = "".join(f"{account}:{password}\n" for account, password in self.passwords.items())
        hashes = self.folder / "passwords"
        hashes.write_text(lines)
        subprocess.run(["mosquitto_passwd", "-U", hashes], check=True)
        access = self.folder / "access.conf"
        access.write_text((ROOT / "compose/access.conf").read_text())
        viewers = self.folder / "viewers"
        viewers.touch()
        # People's rights are the plugin's.
        plugin = self.folder / "pacebus_plugin.so"
        subprocess.run(
            ["bash", "-c", 'source compose/common.sh; build_plugin "$1"', "bash", self.folder], cwd=ROOT, check=True)
        configuration = self.folder / "mosquitto.conf"
        configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous false\nacl_file {access}\npersistence false\n"
            f"max_inflight_messages 16384\nplugin {plugin}\nplugin_opt_passwords {hashes}\nplugin_opt_viewers {viewers}\n")
        for file in (hashes, access, viewers, configuration):
            file.chmod(0o644)
        for account, password in self.passwords.items():
            (self.folder / account).touch(0o600)
            (self.folder / account).write_text(password)
        self.run(["mosquitto", "-c", configuration], "mosquitto")
        wait_for_port(self.port)
        for name in SERVICES:
            more = ["--web-port", str(self.web_port), "--web-folder", WEB] if name == "dashboard" else []
            self.execute(name, "_" + name, [*more, "--store-url", f"sqlite:{self.folder}/{name}.sqlite", "--http-port", "0"])
        wait_for_port(self.web_port)

    def execute(self, name, account, arguments, log=None):
        environment = {
            **os.environ, "MQTT_URL": f"mqtt://{account}@127.0.0.1:{self.port}", "MQTT_PASSWORD_FILE": str(self.folder / account)}
        return self.run([EXECUTABLES / name, *arguments], log or name, environment)

    def run(self, command, log, environment=None):
        with open(self.folder / f"{log}.log", "wb") as output:
            process = subprocess.Popen(
                list(map(str, command)), cwd=self.folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def simulate(self, user, run):
        """A device that runs in the virtual run, and ends its session at the goal."""
        self.execute(
            "device", user, ["simulate", "--virtual-run", run, "--queue-folder", self.folder / f"queue-{user}"], f"device-{user}")

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(20)


def log_in(page, url, user, password):
    page.goto(f"{url}/login")
    page.get_by_label("Name").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.locator("html.scripted").wait_for(state="attached")


def both_look(pages, faults, name):
    for user, page in pages.items():
        screenshot(page, f"virtual-run-{name}-{user}")
        faults.look(page, f"{name} of {user}")


def play(system, browser, faults):
    url = faults.server.url
    pages = {}
    for user, device in zip(PEOPLE, [PHONE, DESKTOP]):
        page = browser.new_context(**device, reduced_motion="reduce").new_page()
        faults.watch(page)
        log_in(page, url, user, system.passwords[user])
        pages[user] = page
    anna, ben = pages.values()

    ben.locator("a.runs-link").click()
    ben.locator("#empty", has_text="No virtual run yet").wait_for()
    ben.locator("#invite").click()
    ben.get_by_label("People").fill("anna")
    ben.get_by_label("Distance, km").fill("0.1")
    ben.locator("#invite-form .primary").click()
    ben.wait_for_url(re.compile("/virtual-runs/[0-9a-f-]{36}$"))
    run = ben.url.rsplit("/", 1)[1]
    ben.locator("#ready-text", has_text="Waiting for anna to answer").wait_for()

    anna.locator(".invitation", has_text="ben invites you to a virtual run").wait_for()
    both_look(pages, faults, "invited")
    anna.locator(".invitation").get_by_role("button", name="Accept").click()
    anna.wait_for_url(f"**/virtual-runs/{run}")
    ben.get_by_role("button", name="Go", exact=True).click()
    ben.locator("#ready-text", has_text="Waiting for anna").wait_for()
    both_look(pages, faults, "go")
    for user in PEOPLE:
        system.simulate(user, run) if user == "ben" else None
    anna.get_by_role("button", name="Go", exact=True).click()
    system.simulate("anna", run)
    anna.locator("#countdown").wait_for()
    screenshot(anna, "virtual-run-countdown")

    for page in pages.values():
        page.locator(".lanes.two .lane:not(.mine) .chip", has_text="Live").wait_for(timeout=30_000)
        page.locator(".lane:not(.mine) .lane-gap", has_text=re.compile("ahead|behind|level")).wait_for(timeout=30_000)
        page.locator(".lane.mine [data-value=heartRate] .number", has_text=re.compile(r"^\d+$")).wait_for(timeout=30_000)
    both_look(pages, faults, "lanes")

    for page in pages.values():
        page.locator("#results tr").nth(1).wait_for(timeout=120_000)
        page.locator("#provisional").wait_for(state="hidden", timeout=60_000)
    both_look(pages, faults, "results")
    rows = anna.locator("#results tr").all_inner_texts()
    if not all("0.10 km" in row for row in rows) or rows != [row.replace("ben (you)", "ben") for row in rows]:
        faults.found.append(f"results are {rows}")
    # The list shows the place.
    anna.goto(f"{url}/virtual-runs")
    anna.locator("#runs li", has_text=re.compile("2 runners · place [12]")).wait_for()


with tempfile.TemporaryDirectory() as folder:
    system = System(folder)
    try:
        system.start()
        faults = Faults(Server(f"http://127.0.0.1:{system.web_port}"))
        with chromium() as browser:
            play(system, browser, faults)
    except BaseException:
        for log in sorted(system.folder.glob("*.log")):
            print(f"== {log.name}", *log.read_text(errors="replace").splitlines()[-15:], sep="\n")
        raise
    finally:
        system.stop()
    faults.finish()
