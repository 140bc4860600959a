"""Every page in every state, on a phone and a desktop, light and dark.

Fails for a violation of accessibility, a message on the console, a request to another site, a page that scrolls to the side,
one whose parts move while it loads, or one that is too heavy. With SCREENSHOTS it leaves pictures in that folder, and visits all
states; otherwise the most different ones on a phone, and four of them on a desktop.
PAGES is a comma-separated list of the beginnings of names, to visit only those.
"""

import os

import fixtures
from browser import DESKTOP, PHONE, SMALL, Faults, chromium, close_all, screenshot
from browser import visit as browser_visit
from world import World

world = World()
faults = Faults(world)
live = f"/live/anna/{fixtures.session_of('anna')}"
WEIGHTS = {"/": 60_000, live: 150_000, "/operator": 64_000}
is_thorough = "SCREENSHOTS" in os.environ
# Those whose layout differs most from a phone's.
WIDE = ["silent", "home", "operator"]


def sizes(name):
    if is_thorough:
        return {"phone": PHONE, "desktop": DESKTOP, "small": SMALL}
    return {"phone": PHONE, "desktop": DESKTOP} if name in WIDE else {"phone": PHONE}


def visit(browser, name, path, login, messages, ready, offline=()):
    if not name.startswith(tuple(os.environ.get("PAGES", "").split(","))):
        return
    world.reset()
    for service in offline:
        world.set_online(service, False)
    has_route = path == live and any(topic.endswith("/route") for topic, _ in messages)

    def ready_with_route(page):
        ready(page)
        if has_route:
            page.locator(".route-line").first.wait_for(state="attached")

    browser_visit(world, browser, faults, name, path, login, messages, ready_with_route, WEIGHTS[path], WIDE)


def look(page, name):
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        screenshot(page, f"{name}-{theme}")
        faults.look(page, f"{name}-{theme}")


def visit_still(browser, name, status, login, go):
    """Pages that the bus does not fill: login, logout and errors."""
    for size, device in sizes(name).items():
        context = world.context(browser, login, **device) if login else browser.new_context(**device)
        page = context.new_page()
        faults.watch(page, status)
        statuses = []
        page.on(
            "response",
            lambda response: statuses.append(response.status),
        )
        go(page)
        if status not in statuses:
            faults.found.append(f"{name}-{size}: statuses {statuses} instead of {status}")
        look(page, f"{name}-{size}")
        close_all(context)


def log_in(password):
    def go(page):
        page.goto(f"{world.url}/login")
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
    page.goto(world.url)
    page.locator("#start-new").click()
    page.locator("#start-confirm").click()
    page.locator("#press", has_text="Starting…").wait_for()
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    page.get_by_role("heading", name="Log out?").wait_for()


def discard(browser):
    """Discards the reader's presses at the logout, and no other person's."""
    page = world.context(browser, "anna").new_page()
    page.on("pageerror", lambda error: faults.found.append(f"discard: {error}"))
    log_out(page)
    page.evaluate("for (const name of ['anna', 'ben']) localStorage.setItem('pacebus.refused.' + name, '[]')")
    page.get_by_role("button", name="Log out and discard them").click()
    page.wait_for_url("**/login")
    left = page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('pacebus.re'))")
    if left != ["pacebus.refused.ben"]:
        faults.found.append(f"discard: {left} are left")
    close_all(page.context)


def open_missing(page):
    page.goto(f"{world.url}/nothing")


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
    visit(browser, "home", "/", "coach", lambda: fixtures.home(fixtures.now()), shown(".card .chip", "No signal"))
    if is_thorough:
        visit(browser, "viewer", live, "coach", fixtures.live_scenes(fixtures.now())["running"], ready["running"])
        visit(browser, "home-empty", "/", "ben", [], shown("#empty"))
    visit(
        browser,
        "operator",
        "/operator",
        "_operator",
        lambda: fixtures.operator(fixtures.now()),
        shown("#headline", "weather-fetcher offline"),
        ["weather-fetcher"],
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
    visit_still(browser, "login", 200, None, lambda page: page.goto(f"{world.url}/login"))
    visit_still(browser, "login-wrong", 401, None, log_in("wrong"))
    visit_still(browser, "logout", 200, "anna", log_out)
    discard(browser)
    visit_still(browser, "error-404", 404, "anna", open_missing)
faults.finish()
