"""Chromium on the pages of a test's server, which takes messages of the bus on /test/messages."""

import contextlib
import json
import os
import time
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SMALL = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}


class Server:
    """The test's server, for one of its users."""

    def __init__(self, url):
        self.url = url
        self.topics = set()

    def post(self, path, value):
        request = urllib.request.Request(self.url + path, json.dumps(value).encode(), {
            "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def publish(self, messages):
        self.topics.update(topic for topic, _ in messages)
        self.post("/test/messages", [{"topic": topic, "payload": json.dumps(payload)} for topic, payload in messages])

    def reset(self):
        """Forgets all presses and, once all streams have ended, clears all topics."""
        deadline = time.monotonic() + 10
        while self.post("/test/reset", {})["streams"] > 0:
            if time.monotonic() > deadline:
                raise SystemExit("a stream stays open after its page was closed")
            time.sleep(0.02)
        self.post("/test/messages", [{"topic": topic, "payload": ""} for topic in self.topics])

    def presses(self):
        return self.post("/test/presses", {})


class Faults:
    """What no page may do: log, fail, or ask another site."""

    def __init__(self, server):
        self.server = server
        self.found = []

    def watch(self, page):
        page.on("console", lambda message: self.found.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("request", self.check)

    def check(self, request):
        if not request.url.startswith((self.server.url, "data:")):
            self.found.append(f"request to {request.url}")

    def look(self, page, name):
        """Accessibility, and no scrolling to the side."""
        for violation in Axe().run(page).response["violations"]:
            nodes = "; ".join(node["html"][:120] for node in violation["nodes"][:3])
            self.found.append(f"{name}: {violation['id']}: {violation['help']}: {nodes}")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            self.found.append(f"{name}: wider than the screen")

    def finish(self):
        for fault in dict.fromkeys(self.found):
            print(fault)
        raise SystemExit(1 if self.found else 0)


@contextlib.contextmanager
def chromium():
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root; the pages are ours.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


def until(page, function, argument=None):
    """Waits for a condition. Playwright's own wait evaluates text, which the pages' policy forbids."""
    deadline = time.monotonic() + 10
    while not page.evaluate(function, argument):
        if time.monotonic() > deadline:
            raise SystemExit(f"not in time: {function}")
        page.wait_for_timeout(50)


def screenshot(page, name):
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png")
