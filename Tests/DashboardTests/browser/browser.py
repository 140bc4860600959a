"""Chromium, and what no page may do."""

import contextlib
import faulthandler
import os
import signal
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, sync_playwright

# Chromium sometimes never closes a context whose service worker starts at that moment: only offline.py has one.
NO_WORKER = {"service_workers": "block"}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, **NO_WORKER}
SMALL = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True, **NO_WORKER}
DESKTOP = {"viewport": {"width": 1280, "height": 800}, **NO_WORKER}
# As Chromium's tools define it: 1.6 Mbit/s, 150 ms for each round trip.
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}
# Chromium refuses its sandbox to root, and a page that a test rewrote its bus on this machine; the pages are ours.
ARGUMENTS = ["--no-sandbox", "--disable-features=LocalNetworkAccessChecks"]
# Chromium without its windows needs half the processor time.
PROGRAM = "/usr/bin/chromium-headless-shell"
# Seconds. A script takes up to three minutes on a busy machine, which delays pages: only a missing result fails.
LONGEST = 1_800
TIMEOUT = 120
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

# Lines of text that lie upon one another, beyond the screen's edge, or in part outside a box that hides what leaves it.
# Covers, dialogs, maps and what is fixed over the page lie upon it by intention: their texts are compared with one another only.
TEXT_FAULTS = """width => {
    const [lines, faults] = [[], []];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (const range = document.createRange(); texts.nextNode();) {
        const { currentNode: node } = texts, { parentElement: element } = node;
        if (!node.data.trim() || element.closest('.map, .hidden-text, .skip, script, noscript, canvas')) continue;
        if (!element.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true })) continue;
        let [hides, layer] = [[], document.body];
        for (let box = element; box !== document.body; box = box.parentElement) {
            const { overflowX, position } = getComputedStyle(box);
            if (overflowX === 'hidden' || overflowX === 'clip') hides.push(box.getBoundingClientRect());
            if (overflowX === 'auto' || overflowX === 'scroll' || position === 'fixed' || box.matches('.map-box, .sheet')) { layer = box; break; }
        }
        for (const { 0: word, index } of node.data.matchAll(/[^\\s-]+/g)) {
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) faults.push(`'${word}' is cut`);
        }
        range.selectNodeContents(node);
        for (const { left, right, top, bottom } of range.getClientRects())
            if (right > left) lines.push({ text: node.data.trim(), left, right, top: top + (bottom - top) * 0.2,
                bottom: bottom - (bottom - top) * 0.2, hides, layer, element });
    }
    for (const [index, line] of lines.entries()) {
        if (line.layer === document.body && (line.left < -1 || line.right > width + 1)) faults.push(`'${line.text}' leaves the screen`);
        if (line.hides.some(box => line.left < box.left - 1 || line.right > box.right + 1 || line.top < box.top || line.bottom > box.bottom))
            faults.push(`'${line.text}' is clipped`);
        const button = line.element.closest('button, .button, .chip, summary, .cell')?.getBoundingClientRect();
        if (button && (line.left < button.left - 1 || line.right > button.right + 1 || line.top < button.top || line.bottom > button.bottom))
            faults.push(`'${line.text}' leaves its box`);
        for (const other of lines.slice(index + 1))
            if (other.layer === line.layer && Math.min(line.right, other.right) - Math.max(line.left, other.left) > 2
                && Math.min(line.bottom, other.bottom) - Math.max(line.top, other.top) > 2) faults.push(`'${line.text}' lies upon '${other.text}'`);
    }
    return [...new Set(faults)];
}"""


class Faults:
    """What no page may do: log, fail, or ask another site."""

    def __init__(self, server, tiles=None):
        self.allowed = tuple(filter(None, [server.url, "data:", tiles]))
        self.found = []

    def watch(self, page, status=200):
        def log(message):
            # Chromium logs each response with an error's status, also one that is wanted, a bus that a page leaves, and
            # the first choices of closed dialogs when the focus is elsewhere. Playwright logs a worker that it blocks.
            wanted = (
                f"with a status of {status}",
                "closed before the connection",
                "Autofocus processing was blocked",
                "Service Worker registration blocked",
            )
            if not any(text in message.text for text in wanted):
                self.found.append(f"console {message.type}: {message.text}")

        page.on("console", log)
        page.on("pageerror", lambda error: self.found.append(f"error: {error.stack or error}"))
        page.on("request", self.check)

    def check(self, request):
        if not request.url.startswith(self.allowed):
            self.found.append(f"request to {request.url}")

    def expect(self, condition, text):
        if not condition:
            self.found.append(text)

    def look(self, page, name):
        """Accessibility, large targets for fingers, no scrolling to the side, and no text that is cut."""
        for text in page.evaluate(CUT):
            self.found.append(f"{name}: '{text}' is cut")
        for violation in Axe().run(page).response["violations"]:
            nodes = "; ".join(node["html"][:120] for node in violation["nodes"][:3])
            self.found.append(f"{name}: {violation['id']}: {violation['help']}: {nodes}")
        # A phone's browser widens `innerWidth` to what overflows. A chart has its width after the next frame.
        try:
            until(page, "width => document.documentElement.scrollWidth <= width", page.viewport_size["width"])
        except SystemExit:
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
def chromium(*arguments, program=PROGRAM, **options):
    """A browser. A script that hangs ends, and says where: some waits for Chromium have no end of their own."""
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST)
    faulthandler.dump_traceback_later(LONGEST + 60, exit=True)
    with sync_playwright() as playwright:
        arguments = [*ARGUMENTS, *arguments]
        browser = playwright.chromium.launch(executable_path=program, args=arguments, **options)
        create = browser.new_context
        browser.new_context = lambda **options: with_timeout(create(**options))
        yield browser
        browser.close()
    signal.alarm(0)
    faulthandler.cancel_dump_traceback_later()


def with_timeout(context):
    context.set_default_timeout(TIMEOUT * 1000)
    return context


def give_up(*_):
    raise TimeoutError(f"the script has not ended after {LONGEST} s")


def close(page):
    """Closes a page. Chromium forgets a close that meets a navigation (crbug.com/536385539), and Playwright then waits for ever."""
    target = page.context.new_cdp_session(page).send("Target.getTargetInfo")["targetInfo"]["targetId"]
    session, asked = page.context.browser.new_browser_cdp_session(), 0
    while not page.is_closed():
        if time.monotonic() > asked + 1:
            session.send("Target.closeTarget", {"targetId": target})
            asked = time.monotonic()
        # Playwright learns of the end while it waits for an answer.
        session.send("Target.getTargets")
    session.detach()


def close_all(context):
    """Closes the pages of a context one by one, then the context."""
    # A browser with a profile has one context, and ends with it.
    for page in context.pages if context.browser else []:
        close(page)
    context.close()


def open_slowly(page, url):
    """Over a slow network a page is painted before its modules run, so that each later move is seen."""
    page.add_init_script(COUNT_SHIFTS)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW_4G)
    page.goto(url)


def evaluate(page, function, argument=None):
    """The value of a function, or None while the page gives way to another one."""
    try:
        return page.evaluate(function, argument)
    except Error as error:
        if "Execution context was destroyed" not in error.message:
            raise
        return None


def until(page, function, argument=None):
    """Waits for a condition, on the next page too. Playwright's own wait evaluates text, which the pages' policy forbids."""
    deadline = time.monotonic() + TIMEOUT
    while not evaluate(page, function, argument):
        if time.monotonic() > deadline:
            raise SystemExit(f"not in time: {function}")
        page.wait_for_timeout(50)


def press_tab_to(page, faults, label, back=False):
    """Presses Tab until the focused element has this text or label; it must be visible and have an outline."""
    for _ in range(90):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        found = page.evaluate("""() => {
            const e = document.activeElement;
            const label = e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText || '';
            return { label: label.trim(), outline: getComputedStyle(e).outlineStyle, width: e.getBoundingClientRect().width };
        }""")
        if found["label"] == label:
            faults.expect(found["outline"] != "none" and found["width"] > 0, f"{label}: the focus is not visible")
            return
    raise SystemExit(f"the Tab key does not reach {label}")


def screenshot(page, name):
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png")


# Pages of a world.

is_thorough = "SCREENSHOTS" in os.environ


def open_page(world, browser, faults, path, user, device):
    """A page of a new context, whose shifts are counted; without a path, nothing is opened yet."""
    context = browser.new_context(**device, reduced_motion="reduce")
    world.log_in(context, user)
    page = context.new_page()
    page.add_init_script(COUNT_SHIFTS)
    faults.watch(page)
    if path:
        page.goto(world.url + path)
    return page


def visit(world, browser, faults, name, path, user, messages, ready, weight, wide=()):
    """Opens a page over a slow network in each size and theme, where it is no fault, neither moves its parts nor is too heavy.
    Names in `wide` are visited on a desktop too, all if there are pictures. A function makes the messages of each visit: old
    figures would move a runner to the silent ones.
    """
    sizes = {"phone": PHONE}
    if is_thorough or name in wide:
        sizes["desktop"] = DESKTOP
    if is_thorough:
        sizes["small"] = SMALL
    for size, device in sizes.items():
        sent = messages() if callable(messages) else messages
        world.publish(sent)
        page = open_page(world, browser, faults, None, user, device)
        requests = []
        page.on("requestfinished", lambda request: requests.append(request))
        open_slowly(page, world.url + path)
        try:
            ready(page)
            page.locator("main.drawn").wait_for()
        except Exception as error:
            raise SystemExit(f"{name}-{size}: {error}\n{page.locator('main').inner_html()}") from error
        parts = [request.sizes() for request in requests]
        bytes_ = sum(part["responseBodySize"] + part["responseHeadersSize"] for part in parts)
        faults.expect(bytes_ <= weight, f"{name}-{size}: {bytes_} bytes, more than {weight}")
        faults.expect(len(requests) <= 32, f"{name}-{size}: {len(requests)} requests, more than 32")
        # Not later: silent people move to the top, and the looks below may take until then.
        page.wait_for_timeout(1000)
        faults.look_at_shifts(page, f"{name}-{size}")
        for theme in ["light", "dark"]:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            screenshot(page, f"{name}-{size}-{theme}")
            faults.look(page, f"{name}-{size}-{theme}")
        close_all(page.context)
    world.publish([(topic, None) for topic, _ in sent])


class Held:
    """Requests of a page that wait."""

    def __init__(self, page, part):
        self.page, self.routes, self.holds = page, [], True
        page.route(part, self.take)

    def take(self, route):
        if self.holds:
            self.routes.append(route)
        else:
            route.continue_()

    def release_slowly(self):
        """One after the other, until none follows."""
        self.page.wait_for_timeout(600)
        while self.routes:
            self.routes.pop().continue_()
            self.page.wait_for_timeout(30)
        self.release()

    def release(self):
        self.holds = False
        for route in self.routes:
            route.continue_()
        self.routes = []


def check_shifts(page, faults, name):
    """What moved by itself since the page was opened: nothing may."""
    # A shift is reported after the next frames.
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100))))"
    )
    shifts = page.evaluate("window.shifts")
    faults.expect(sum(shift["value"] for shift in shifts) <= 0.005, f"{name}: the layout shifts: {shifts}")
