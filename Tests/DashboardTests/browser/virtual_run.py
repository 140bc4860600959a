"""Two browsers and two simulated runners in a virtual run, from the invitation to the results, with a real broker and real
services: virtual_run.py EXECUTABLES WEB_FOLDER.
"""

import contextlib
import os
import pathlib
import re
import secrets
import signal
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
        self.url = f"http://127.0.0.1:{self.web_port}"

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
            ["bash", "-c", 'source compose/common.sh; build_plugin "$1"', "bash", self.folder], cwd=ROOT, check=True
        )
        configuration = self.folder / "mosquitto.conf"
        configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous false\nacl_file {access}\npersistence false\n"
            f"max_inflight_messages 16384\nplugin {plugin}\nplugin_opt_passwords {hashes}\nplugin_opt_viewers {viewers}\n"
        )
        for file in (hashes, access, viewers, configuration):
            file.chmod(0o644)
        for account, password in self.passwords.items():
            (self.folder / account).touch(0o600)
            (self.folder / account).write_text(password)
        self.run(["mosquitto", "-c", configuration], "mosquitto")
        wait_for_port(self.port)
        for name in SERVICES:
            more = ["--web-port", str(self.web_port), "--web-folder", WEB] if name == "dashboard" else []
            self.execute(
                name, "_" + name, [*more, "--store-url", f"sqlite:{self.folder}/{name}.sqlite", "--http-port", "0"]
            )
        wait_for_port(self.web_port)

    def execute(self, name, account, arguments, log=None):
        environment = {
            **os.environ,
            "MQTT_URL": f"mqtt://{account}@127.0.0.1:{self.port}",
            "MQTT_PASSWORD_FILE": str(self.folder / account),
        }
        return self.run([EXECUTABLES / name, *arguments], log or name, environment)

    def run(self, command, log, environment=None):
        with open(self.folder / f"{log}.log", "wb") as output:
            process = subprocess.Popen(
                list(map(str, command)), cwd=self.folder, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
        self.processes.append(process)
        return process

    def simulate(self, user, run):
        """A device that runs in the virtual run, and ends its session at the goal or on SIGINT."""
        return self.execute(
            "device",
            user,
            ["simulate", "--virtual-run", run, "--queue-folder", self.folder / f"queue-{user}"],
            f"device-{user}",
        )

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


def invite(host, guest, *choices):
    """The host invites the guest, and waits on the run's page. Returns the run."""
    host.locator("#invite").click()
    host.locator("#invite-form [name=people]").fill(guest)
    for choose in choices:
        choose(host)
    host.locator("#invite-form .primary").click()
    host.wait_for_url(re.compile("/virtual-runs/[0-9a-f-]{36}$"))
    host.locator("#ready-text", has_text=f"Waiting for {guest} to answer").wait_for()
    return host.url.rsplit("/", 1)[1]


def press(page, name, within="#ready"):
    page.locator(within).get_by_role("button", name=name, exact=True).click()


def log_in_all(system, browser, faults):
    url = system.url
    pages = {}
    for user, device in zip(PEOPLE, [PHONE, DESKTOP]):
        page = browser.new_context(**device, reduced_motion="reduce").new_page()
        faults.watch(page)
        log_in(page, url, user, system.passwords[user])
        pages[user] = page
    return pages


def play(system, pages, faults):
    """From the invitation to the results."""
    url = system.url
    anna, ben = pages.values()

    ben.locator("a.runs-link").click()
    ben.locator("#empty", has_text="No virtual run yet").wait_for()
    run = invite(ben, "anna", lambda page: page.get_by_label("Distance, km").fill("0.1"))

    anna.locator(".invitation", has_text="ben invites you to a virtual run").wait_for()
    both_look(pages, faults, "invited")
    anna.locator(".invitation").get_by_role("button", name="Accept").click()
    anna.wait_for_url(f"**/virtual-runs/{run}")
    ben.get_by_role("button", name="Go", exact=True).click()
    ben.locator("#ready-text", has_text="Waiting for anna").wait_for()
    both_look(pages, faults, "go")
    system.simulate("ben", run)
    anna.get_by_role("button", name="Go", exact=True).click()
    system.simulate("anna", run)
    anna.locator("#countdown").wait_for()
    screenshot(anna, "virtual-run-countdown")

    for page in pages.values():
        page.locator(".lanes.two .lane:not(.mine) .chip", has_text="Live").wait_for(timeout=30_000)
        page.locator(".lane:not(.mine) .lane-gap", has_text=re.compile("ahead|behind|level")).wait_for(timeout=30_000)
        page.locator(".lane.mine [data-value=heartRate] .number", has_text=re.compile(r"^\d+$")).wait_for(
            timeout=30_000
        )
    both_look(pages, faults, "lanes")

    # Announcements of the workout are read aloud too.
    ben.locator("#workout").click()
    ben.locator("#speak[aria-pressed=true]").wait_for()
    ben.go_back()
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
    anna.locator("#contacts li", has_text="ben").wait_for()


def refuse(system, pages):
    """Decline, and Cancel run."""
    url = system.url
    anna, ben = pages.values()
    for page in pages.values():
        page.goto(f"{url}/virtual-runs")
    invite(ben, "anna")
    anna.locator(".invitation").get_by_role("button", name="Decline").click()
    ben.locator("#over", has_text="This run was canceled. All declined.").wait_for()
    ben.goto(f"{url}/virtual-runs")
    run = invite(ben, "anna")
    anna.locator(".invitation", has_text="ben invites you").wait_for()
    press(ben, "Cancel run")
    ben.locator("#over", has_text="This run was canceled.").wait_for()
    anna.locator(".invitation").wait_for(state="hidden")
    anna.goto(f"{url}/virtual-runs/{run}")
    anna.locator("#over", has_text="This run was canceled.").wait_for()


def end(system, pages, faults):
    """Of a run without goal: Begin, Leave, and End My Run after the partner's finish."""
    url = system.url
    anna, ben = pages.values()
    ben.goto(f"{url}/virtual-runs")
    run = invite(ben, "anna", lambda page: page.locator("#invite-form [name=goal][value='']").check(force=True))
    ben.locator("#people-box #invite").click()
    ben.locator("#invite-dialog [name=people]").fill("cleo")
    ben.locator("#invite-dialog .primary").click()
    ben.locator("#people li", has_text="cleo").wait_for()
    anna.goto(f"{url}/virtual-runs/{run}")
    anna.locator("#share").click()
    anna.locator("#share-dialog").get_by_label("Route after the run").check()
    anna.locator("#share-confirm").click()
    anna.locator("#ready-text", has_text="Waiting for ben to begin").wait_for()
    ben.locator("#people").get_by_role("button", name="Remove cleo").click()
    ben.locator("#people li", has_text="cleo").locator("span", has_text="Declined: removed by the host").wait_for()
    press(ben, "Begin")
    # A device that waits for the run would confirm it first.
    for page in pages.values():
        press(page, "Go")
    devices = {user: system.simulate(user, run) for user in pages}
    anna.locator(".lane:not(.mine) .chip", has_text="Live").wait_for(timeout=30_000)
    for lane in [".mine", ":not(.mine)"]:
        anna.locator(f".lane{lane} [data-value=distance] .number", has_text=re.compile("0.0[1-9]")).wait_for(
            timeout=60_000
        )
    devices["ben"].send_signal(signal.SIGINT)
    anna.locator("#prompt-text", has_text="ben finished").wait_for(timeout=60_000)
    both_look(pages, faults, "finished")
    press(anna, "End My Run", "#prompt")
    anna.locator("#totals", has_text=re.compile(r"^\d\d:\d\d · 0\.\d\d km$")).wait_for()
    if anna.evaluate("document.activeElement.textContent") != "Keep going":
        faults.found.append("the focus is not on Keep going")
    press(anna, "Keep going", "#end-dialog")
    press(anna, "End My Run", "#prompt")
    press(anna, "End and save", "#end-dialog")
    anna.locator("#results tr").nth(1).wait_for(timeout=60_000)


with tempfile.TemporaryDirectory() as folder:
    system = System(folder)
    try:
        system.start()
        faults = Faults(Server(system.url))
        with chromium() as browser:
            pages = log_in_all(system, browser, faults)
            play(system, pages, faults)
            refuse(system, pages)
            end(system, pages, faults)
    except BaseException:
        for log in sorted(system.folder.glob("*.log")):
            print(f"== {log.name}", *log.read_text(errors="replace").splitlines()[-15:], sep="\n")
        raise
    finally:
        system.stop()
    faults.finish()
