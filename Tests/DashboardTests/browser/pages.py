"""Every page in every state, on a phone and a desktop, light and dark: pages.py URL.

Fails for a violation of accessibility, a message on the console, a request to another site, a page that scrolls to the side,
or one that is too heavy. With SCREENSHOTS it leaves pictures in that folder, and visits all states; otherwise the most different ones on a phone.
"""

import os
import sys

import fixtures
from browser import DESKTOP, PHONE, SMALL, Faults, Server, chromium, screenshot

server = Server(sys.argv[1])
faults = Faults(server)
live = f"/live/anna/{fixtures.session_of('anna')}"


run = f"/virtual-runs/{fixtures.RUN}"
WEIGHTS = {"/": 60_000, live: 150_000, run: 150_000, "/virtual-runs": 60_000}
# Plans, notices and the end of a session still move what is below them.
WITH_ROOM = {"running", "silent"}
SHIFT = """new Promise(resolve => {
    new PerformanceObserver(list => resolve(list.getEntries().reduce((sum, entry) => sum + entry.value, 0)))
        .observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(0)));
})"""
is_thorough = "SCREENSHOTS" in os.environ
sizes = {"phone": PHONE, "desktop": DESKTOP, "small": SMALL} if is_thorough else {"phone": PHONE}


def visit(browser, name, path, login, messages, ready):
    for size, device in sizes.items():
        context = browser.new_context(**device, extra_http_headers={"Test-Login": login})
        page = context.new_page()
        faults.watch(page)
        requests = []
        page.on("requestfinished", lambda request: requests.append(request))
        server.reset()
        server.publish(messages)
        page.goto(server.url + path)
        try:
            ready(page)
        except Exception as error:
            raise SystemExit(f"{name}-{size}: {error}\n{page.locator('main').inner_html()}") from error
        if any(topic.endswith("/route") for topic, _ in messages) and path == live:
            page.locator(".route-line").first.wait_for(state="attached")
        weight = sum(sum(request.sizes()[part] for part in ["responseBodySize", "responseHeadersSize"]) for request in requests)
        if weight > WEIGHTS[path]:
            faults.found.append(f"{name}-{size}: {weight} bytes, more than {WEIGHTS[path]}")
        shift = page.evaluate(SHIFT)
        if path == live and name in WITH_ROOM and shift > 0.05:
            faults.found.append(f"{name}-{size}: the layout shifts by {shift:.3f}")
        for theme in ["light", "dark"]:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            screenshot(page, f"{name}-{size}-{theme}")
            faults.look(page, f"{name}-{size}-{theme}")
        context.close()


def shown(selector, text=None):
    def wait(page):
        page.locator(selector).filter(has_text=text).first.wait_for()
    return wait


with chromium() as browser:
    scenes = fixtures.live_scenes(fixtures.now())
    ready = {
        "running": shown("[data-key='distance'] .number", "8.31"), "paused": shown("#toggle", "Resume"),
        "silent": shown("#signal", "No signal"), "countdown": shown(".countdown-number"), "saving": shown("#saving"),
        "completed": shown("#ended"), "canceled": shown("#recover"), "notices": shown("#notices .notice.warning"),
        "rest": shown("#plan.rest"), "planned": shown("#complete-set"), "planned-list": shown("#plan-items .current"),
        "cycling": shown("[data-key] .unit", "km/h"), "indoor": shown("[data-key='distance'] .number", "8.31"),
    }
    for name in scenes if is_thorough else ["silent", "canceled", "planned-list"]:
        visit(browser, name, live, "anna", fixtures.live_scenes(fixtures.now())[name], ready[name])
    visit(browser, "home", "/", "anna", fixtures.home(fixtures.now()), shown(".card .chip", "No signal"))
    if is_thorough:
        visit(browser, "viewer", live, "coach", fixtures.live_scenes(fixtures.now())["running"], ready["running"])
        visit(browser, "home-empty", "/", "ben", [], shown("#empty"))
    visit(browser, "home-viewer", "/", "coach", [], shown("#empty", "Nothing to see yet"))
    shows = {
        "run-ready": shown("#ready .primary", "Go"), "run-waiting": shown("#ready-text", "Waiting for ben"),
        "run-countdown": shown("#countdown"), "run-two": shown(".lanes.two .lane-gap", "ahead"),
        "run-lanes": shown(".lane.lost"), "run-finished": shown("#prompt", "ben finished"), "run-lost": shown("#prompt", "Partner lost"),
        "run-results": shown("#results", "Did not finish"),
    }
    for name in shows if is_thorough else ["run-lanes", "run-results"]:
        visit(browser, name, run, "anna", fixtures.run_scenes(fixtures.now())[name], shows[name])
    invited = fixtures.run_scenes(fixtures.now())["run-invited"]
    visit(browser, "run-invited", "/", "anna", invited, shown(".invitation button", "Accept"))
    visit(browser, "runs", "/virtual-runs", "anna", invited, shown("#runs li", "Inviting"))
faults.finish()
