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
# As Chromium's tools define it: 1.6 Mbit/s, 150 ms for each round trip.
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}
COUNT_SHIFTS = """window.shifts = [];
new PerformanceObserver(list => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
        if (hadRecentInput) continue;
        const moved = sources.map(({ node }) => node?.id || node?.className || node?.nodeName);
        window.shifts.push({ value, moved: moved.join(', ') });
    }
}).observe({ type: 'layout-shift', buffered: true });"""


# Inputs of a choice lie below its label; links in text are as high as its lines, and people close together on a map share it.
TOO_SMALL = """least => [...document.querySelectorAll('button:not(.person-dot), summary, .button, label:has(input), a[href]:not(p a)')].filter(e => e.checkVisibility({
    checkVisibilityCSS: true })).filter(e => e.offsetWidth < least || e.offsetHeight < least).map(e => e.outerHTML.slice(0, 80))"""
# Words of buttons, labels and marks that a line's end cuts in two, and what is wider than its box.
CUT = """() => [...document.querySelectorAll('button:not(.person-dot), .button, .chip, dt, .counts span, .card a')].filter(e => e.checkVisibility({
    checkVisibilityCSS: true })).filter(element => {
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0) return true;
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (const range = document.createRange(); texts.nextNode();) {
        for (const { 0: word, index } of texts.currentNode.data.matchAll(/[^\\s-]+/g)) {
            range.setStart(texts.currentNode, index);
            range.setEnd(texts.currentNode, index + word.length);
            if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) return true;
        }
    }
    return false;
}).map(e => e.innerText)"""


class Server:
    """The test's server, for one of its users."""

    def __init__(self, url):
        self.url = url
        self.topics = set()

    def post(self, path, value):
        request = urllib.request.Request(
            self.url + path,
            json.dumps(value).encode(),
            {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def open(self, path):
        return urllib.request.urlopen(self.url + path)

    def publish(self, messages):
        self.topics.update(topic for topic, _ in messages)
        self.post("/test/messages", [{"topic": topic, "payload": json.dumps(payload)} for topic, payload in messages])

    def answers(self, replies):
        """What questions to virtual-run are answered, by type."""
        self.post("/test/answers", {kind: json.dumps(reply) for kind, reply in replies.items()})

    def reset(self):
        """Forgets all presses and, once all streams have ended, clears all topics. Services, which stay known, are online."""
        deadline = time.monotonic() + 10
        while self.post("/test/reset", {})["streams"] > 0:
            if time.monotonic() > deadline:
                raise SystemExit("a stream stays open after its page was closed")
            time.sleep(0.02)
        self.post(
            "/test/messages",
            [
                {"topic": topic, "payload": '{"status": "online"}' if "/services/" in topic else ""}
                for topic in self.topics
            ],
        )

    def presses(self):
        return self.post("/test/presses", {})


class Faults:
    """What no page may do: log, fail, or ask another site."""

    def __init__(self, server, tiles=None):
        self.allowed = tuple(filter(None, [server.url, "data:", tiles]))
        self.found = []

    def watch(self, page, status=200):
        def log(message):
            # Chromium logs each response with an error's status, also one that is wanted.
            if f"with a status of {status}" not in message.text:
                self.found.append(f"console {message.type}: {message.text}")

        page.on("console", log)
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("request", self.check)

    def check(self, request):
        if not request.url.startswith(self.allowed):
            self.found.append(f"request to {request.url}")

    def look(self, page, name):
        """Accessibility, large targets for fingers, no scrolling to the side, and no text that is cut."""
        for text in page.evaluate(CUT):
            self.found.append(f"{name}: '{text}' is cut")
        for violation in Axe().run(page).response["violations"]:
            nodes = "; ".join(node["html"][:120] for node in violation["nodes"][:3])
            self.found.append(f"{name}: {violation['id']}: {violation['help']}: {nodes}")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            self.found.append(f"{name}: wider than the screen")
        if page.evaluate("navigator.maxTouchPoints > 0"):
            self.found += [f"{name}: smaller than 44 px: {element}" for element in page.evaluate(TOO_SMALL, 44)]

    def look_at_shifts(self, page, name):
        """What moved since the page's first paint, of a page opened by `open_slowly`."""
        shifts = page.evaluate("window.shifts")
        sum_of_shifts = sum(shift["value"] for shift in shifts)
        if sum_of_shifts > 0.05:
            self.found.append(f"{name}: the layout shifts by {sum_of_shifts:.3f}: {shifts}")

    def finish(self):
        for fault in dict.fromkeys(self.found):
            print(fault)
        raise SystemExit(1 if self.found else 0)


@contextlib.contextmanager
def chromium(**options):
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root; the pages are ours.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"], **options)
        yield browser
        browser.close()


def open_slowly(page, url):
    """Over a slow network a page is painted before its modules run, so that each later move is seen."""
    page.add_init_script(COUNT_SHIFTS)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW_4G)
    page.goto(url)


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
