"""Every page in every state, on a phone and a desktop, light and dark: pages.py URL.

Fails for a violation of accessibility, a message on the console, a request to another site, a page that scrolls to the side,
one whose parts move while it loads, or one that is too heavy. With SCREENSHOTS it leaves pictures in that folder, and visits all
states; otherwise the most different ones on a phone, and four of them on a desktop.
PAGES is a comma-separated list of the beginnings of names, to visit only those.
"""

import os
import sys

import fixtures
from browser import DESKTOP, PHONE, SMALL, Faults, Server, chromium, open_slowly, screenshot

server = Server(sys.argv[1])
faults = Faults(server)
live = f"/live/anna/{fixtures.session_of('anna')}"
run = f"/virtual-runs/{fixtures.RUN}"
WEIGHTS = {"/": 60_000, live: 150_000, run: 150_000, "/virtual-runs": 60_000, "/operator": 64_000}
REQUESTS = 32
is_thorough = "SCREENSHOTS" in os.environ
# Those whose layout differs most from a phone's.
WIDE = ["silent", "home", "run-lanes", "operator"]


def sizes(name):
    if is_thorough:
        return {"phone": PHONE, "desktop": DESKTOP, "small": SMALL}
    return {"phone": PHONE, "desktop": DESKTOP} if name in WIDE else {"phone": PHONE}


def visit(browser, name, path, login, messages, ready):
    if not name.startswith(tuple(os.environ.get("PAGES", "").split(","))):
        return
    for size, device in sizes(name).items():
        context = browser.new_context(**device, extra_http_headers={"Test-Login": login})
        page = context.new_page()
        faults.watch(page)
        requests = []
        page.on("requestfinished", lambda request: requests.append(request))
        server.reset()
        server.publish(messages)
        open_slowly(page, server.url + path)
        try:
            ready(page)
            page.locator("main.drawn").wait_for()
        except Exception as error:
            raise SystemExit(f"{name}-{size}: {error}\n{page.locator('main').inner_html()}") from error
        if any(topic.endswith("/route") for topic, _ in messages) and path == live:
            page.locator(".route-line").first.wait_for(state="attached")
        weight = sum(
            sum(request.sizes()[part] for part in ["responseBodySize", "responseHeadersSize"]) for request in requests
        )
        if weight > WEIGHTS[path]:
            faults.found.append(f"{name}-{size}: {weight} bytes, more than {WEIGHTS[path]}")
        if len(requests) > REQUESTS:
            faults.found.append(f"{name}-{size}: {len(requests)} requests, more than {REQUESTS}")
        look(page, f"{name}-{size}")
        faults.look_at_shifts(page, f"{name}-{size}")
        context.close()


def look(page, name):
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        screenshot(page, f"{name}-{theme}")
        faults.look(page, f"{name}-{theme}")


def visit_without_scripts(browser, name, status, login, go):
    """Pages that no stream fills: login, logout and errors."""
    for size, device in sizes(name).items():
        context = browser.new_context(**device, extra_http_headers={"Test-Login": login} if login else {})
        page = context.new_page()
        faults.watch(page, status)
        statuses = []
        page.on(
            "response",
            lambda response: statuses.append(response.status) if response.request.is_navigation_request() else None,
        )
        go(page)
        if statuses[-1] != status:
            faults.found.append(f"{name}-{size}: status {statuses[-1]} instead of {status}")
        look(page, f"{name}-{size}")
        context.close()


def log_in(password):
    def go(page):
        page.goto(f"{server.url}/login")
        if page.evaluate("document.activeElement.name") != "name":
            faults.found.append("login: the first field has no focus")
        page.get_by_label("Name").fill("anna")
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Log in").click()
        page.locator("#error").wait_for()
        if page.evaluate("document.activeElement.name") != "password":
            faults.found.append("login: after an error the password has no focus")

    return go


def log_out(page):
    page.goto(server.url)
    page.request.post(f"{server.url}/test/unanswered", headers={"Sec-Fetch-Site": "same-origin"})
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    page.get_by_role("heading", name="Log out?").wait_for()


def discard(browser):
    """Discards presses at the logout, here as on the server, and no other person's."""
    page = browser.new_context(extra_http_headers={"Test-Login": "anna"}).new_page()
    page.on("pageerror", lambda error: faults.found.append(f"discard: {error}"))
    log_out(page)
    page.evaluate(
        "for (const name of ['anna', 'anna.runs', 'ben']) localStorage.setItem('pacebus.presses.' + name, '[]')"
    )
    page.get_by_role("button", name="Log out and discard them").click()
    page.locator("#menu").wait_for()
    left = page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('pacebus.presses.'))")
    if left != ["pacebus.presses.ben"]:
        faults.found.append(f"discard: {left} are left")
    page.context.close()


def error(status):
    return lambda page: page.goto(f"{server.url}/test/errors/{status}")


def shown(selector, text=None):
    def wait(page):
        page.locator(selector).filter(has_text=text).first.wait_for()

    return wait


def pressed(button, then):
    def press(page):
        page.locator(button).click()
        page.locator(then).first.wait_for(state="attached")

    return press


with chromium() as browser:
    scenes = fixtures.live_scenes(fixtures.now())
    ready = {
        "running": shown("[data-key='distance'] .number", "8.31"),
        "paused": shown("#toggle", "Resume"),
        "marathon": shown(".map-mark.kilometre"),
        "silent": shown("#signal", "No signal"),
        "countdown": shown(".countdown-number"),
        "saving": shown("#saving"),
        "completed": shown("#ended"),
        "canceled": shown("#recover"),
        "notices": shown("#notices .notice.warning"),
        "rest": shown("#plan.rest"),
        "planned": shown("#complete-set"),
        "planned-list": shown("#plan-items .current"),
        "cycling": shown("[data-key] .unit", "km/h"),
        "indoor": shown("[data-key='distance'] .number", "8.31"),
    }
    for name in scenes if is_thorough else ["silent", "canceled", "planned-list"]:
        visit(browser, name, live, "anna", fixtures.live_scenes(fixtures.now())[name], ready[name])
    visit(browser, "home", "/", "coach", fixtures.home(fixtures.now()), shown(".card .chip", "No signal"))
    if is_thorough:
        visit(browser, "viewer", live, "coach", fixtures.live_scenes(fixtures.now())["running"], ready["running"])
        visit(browser, "home-empty", "/", "ben", [], shown("#empty"))
    visit(
        browser,
        "operator",
        "/operator",
        "_operator",
        fixtures.operator(fixtures.now()),
        shown("#headline", "weather-fetcher offline"),
    )
    if is_thorough:
        visit(
            browser,
            "operator-quiet",
            "/operator",
            "_operator",
            fixtures.operator_quiet(fixtures.now()),
            shown("#headline", "No session silent; all services online"),
        )
    visit(browser, "home-viewer", "/", "coach", [], shown("#empty", "Nothing to see yet"))
    shows = {
        "run-invited": shown("#ready .primary", "Accept"),
        "run-hosting": shown("#people button", "Remove"),
        "run-ready": shown("#ready .primary", "Go"),
        "run-waiting": shown("#ready-text", "Waiting for ben"),
        "run-countdown": shown("#countdown"),
        "run-two": shown(".lanes.two .lane-gap", "ahead"),
        "run-lanes": shown(".lane.lost"),
        "run-finished": shown("#prompt", "ben finished"),
        "run-lost": shown("#prompt", "Partner lost"),
        "run-results": shown("#splits tr td", "+"),
        "run-left": shown("#over", "You did not press Go within a minute."),
    }
    server.answers({"routes": fixtures.run_details(), "runs": fixtures.run_overviews(fixtures.now(), 50)})
    for name in shows if is_thorough else ["run-lanes", "run-results", "run-hosting", "run-lost"]:
        visit(browser, name, run, "anna", fixtures.run_scenes(fixtures.now())[name], shows[name])
    dialogs = {
        "run-end": ("run-lost", "#prompt-end", "#end-dialog[open] #end-confirm"),
        "run-share": ("run-two", "#share", "#share-dialog[open]"),
        "run-invite": ("run-hosting", "#invite", "#invite-dialog[open]"),
        "run-heart-rate": ("run-results", "#by-heart-rate", ".route-line.zone-4"),
    }
    for name, (scene, button, shows_then) in dialogs.items():
        visit(browser, name, run, "anna", fixtures.run_scenes(fixtures.now())[scene], pressed(button, shows_then))
    invited = fixtures.run_scenes(fixtures.now())["run-invited"]
    visit(browser, "run-banner", "/", "anna", invited, shown(".invitation button", "Accept"))
    visit(browser, "runs-invited", "/virtual-runs", "anna", invited, shown("#runs li", "Inviting"))
    people = [fixtures.run_people(fixtures.now()), *fixtures.run_scenes(fixtures.now())["run-results"][1:]]
    visit(browser, "runs", "/virtual-runs", "anna", people, shown("#older"))
    visit(browser, "runs-invite", "/virtual-runs", "anna", people, pressed("#invite", "#invite-dialog[open]"))
    server.answers({})
    visit(browser, "runs-empty", "/virtual-runs", "ben", [], shown("#empty", "No virtual run yet"))
    visit_without_scripts(browser, "login", 200, None, lambda page: page.goto(f"{server.url}/login"))
    visit_without_scripts(browser, "login-wrong", 401, None, log_in("wrong"))
    visit_without_scripts(browser, "login-unavailable", 503, None, log_in("unavailable"))
    visit_without_scripts(browser, "logout", 409, "anna", log_out)
    discard(browser)
    for status in [401, 403, 404, 410, 503] if is_thorough else [404]:
        visit_without_scripts(browser, f"error-{status}", status, "anna", error(status))
faults.finish()
