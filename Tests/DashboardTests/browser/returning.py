"""Browsers whose clock is wrong, that reload, go back, or show a former release."""

import re
import time

import fixtures
from browser import DESKTOP, TIMEOUT, PHONE, Faults, chromium, close_all, until
from world import World

world = World()
faults = Faults(world)
LIVE = f"{world.url}/live/anna/{fixtures.session_of('anna')}"
OLD = "0123456789abcdef"


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def open_live(browser, messages, device=PHONE, script=None):
    context = world.context(browser, "anna", **device, reduced_motion="reduce")
    page = context.new_page()
    faults.watch(page)
    if script:
        page.add_init_script(script)
    world.reset()
    world.publish(messages)
    page.goto(LIVE)
    page.locator("main.drawn").wait_for()
    return page


def send_until_live(page):
    """Sends a figure each second, as a device does: "Live" lasts for 8 s, and a slow browser draws later."""
    deadline = time.monotonic() + TIMEOUT
    while not page.locator("#signal", has_text="Live").is_visible():
        if time.monotonic() > deadline:
            raise SystemExit(f"not live: {page.locator('#signal').inner_text()}")
        world.publish(
            [(fixtures.topic("anna", "metrics"), fixtures.metrics("anna", fixtures.now(), n=int(time.time())))]
        )
        page.wait_for_timeout(1000)


def seconds(text):
    """`42:10` as seconds."""
    minutes, rest = text.rsplit(":", 1)
    return int(minutes) * 60 + int(rest)


def pressed(kind, count=1):
    """The presses of this type, once there are as many."""
    deadline = time.monotonic() + TIMEOUT
    while len(found := [press for _, press in list(world.presses) if press["type"] == kind]) < count:
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(found)} presses {kind}, not {count}")
        time.sleep(0.02)
    return found


def wrong_clock(browser, minutes):
    now = fixtures.now()
    script = f"const read = Date.now; Date.now = () => read() + {minutes * 60_000};"
    page = open_live(browser, fixtures.outdoor("anna", now, segments=[[now - 600, None]]), script=script)
    send_until_live(page)
    passed = seconds(page.locator("[data-key='duration'] .number").inner_text()) - 600
    expect(
        abs(passed - (fixtures.now() - now)) < 2.5,
        f"{minutes} min: the clock is {passed} s after the start of the test",
    )
    page.locator("#toggle").click()
    age = fixtures.now() - pressed("pause")[0]["at"]
    expect(abs(age) < 3, f"{minutes} min: the press is {age} s old")
    close_all(page.context)

    silent = fixtures.now() - 42
    page = open_live(
        browser,
        [
            (fixtures.topic("anna", "state"), fixtures.state("anna", silent)),
            (fixtures.topic("anna", "metrics"), fixtures.metrics("anna", silent)),
        ],
        script=script,
    )
    page.locator("#signal", has_text=re.compile("No signal for 0:4[2-9]")).wait_for()
    close_all(page.context)


def reload_with_end_pressed(browser):
    now = fixtures.now()
    paused = {"status": "paused", "segments": [[now - 600, now - 20]]}
    page = open_live(browser, fixtures.outdoor("anna", now, **paused))
    page.locator("#end:enabled").click()
    page.locator("#end-confirm").click()
    first = pressed("end")[0]
    page.reload()
    page.locator("#press", has_text="Ending…").wait_for()
    expect(
        page.locator("#end").is_disabled() and page.locator("#toggle").is_disabled(),
        "a press under way leaves its buttons on",
    )
    again = pressed("end", 2)[1]
    expect(again == {**first, "client": again["client"]}, f"a reload makes another press: {first}, then {again}")

    # Another tab shows it, and both learn the outcome.
    other = page.context.new_page()
    faults.watch(other)
    other.goto(LIVE)
    other.locator("#press", has_text="Ending…").wait_for()
    other.locator("#status", has_text="Paused").wait_for()
    now = fixtures.now()
    world.publish(
        [
            (
                fixtures.topic("anna", "state"),
                fixtures.state("anna", now, **{**paused, "status": "completed", "endReason": "ended"}),
            )
        ]
    )
    world.answer_newest(revision=2)
    for tab in [page, other]:
        # The athlete who ended it is led to the finished workout.
        tab.wait_for_url("**/workout/**")
        until(tab, "() => document.querySelector('#press').textContent === ''")
    expect({press["id"] for press in world.sent()} == {first["id"]}, "a tab made another press")
    close_all(page.context)


def back(browser):
    """Back from Home, the page follows its stream again, whether the browser kept it or not."""
    page = open_live(browser, fixtures.outdoor("anna", fixtures.now()), DESKTOP)
    page.evaluate("window.isKept = true")
    page.locator("a.home").click()
    page.locator(".home-page.drawn").wait_for()
    page.go_back(wait_until="commit")
    send_until_live(page)
    is_kept = page.evaluate("window.isKept === true")
    world.publish([(fixtures.topic("anna", "metrics"), fixtures.metrics("anna", fixtures.now(), d=9870.0))])
    page.locator("[data-key='distance'] .number", has_text="9.87").wait_for()
    close_all(page.context)
    return is_kept


def blocked(browser):
    """A browser that blocks its storage keeps choices and presses as long as the page."""
    script = "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('blocked', 'SecurityError'); } });"
    page = open_live(browser, fixtures.outdoor("anna", fixtures.now()), script=script)
    page.locator("#menu summary").click()
    page.locator("[name='units'][value='imperial']").check()
    page.locator("[name='theme'][value='dark']").check()
    page.locator("[data-key='distance'] .unit", has_text="mi").wait_for()
    expect(page.evaluate("document.documentElement.dataset.theme") == "dark", "a blocked storage blocks the theme")
    page.keyboard.press("Escape")
    page.locator("#speak").click()
    page.locator("#toggle").click()
    page.locator("#press", has_text="Pausing…").wait_for()
    pressed("pause")
    for path in ["/", f"/virtual-runs/{fixtures.RUN}", "/virtual-runs"]:
        page.goto(world.url + path)
        page.locator("main.drawn").wait_for()
    close_all(page.context)


def expired(browser):
    """A login that has ended says so, knows whose it was, and leads back; after logging out nothing is said."""
    page = world.context(browser, "anna", **DESKTOP).new_page()
    faults.watch(page, 401)
    page.goto(LIVE)
    page.locator("main.drawn").wait_for()
    page.context.clear_cookies()
    page.reload()
    page.wait_for_url("**/login?to=*")
    page.locator("#ended", has_text="Your login has ended").wait_for()
    expect(page.get_by_label("Name").input_value() == "anna", "the login page forgets whose login has ended")
    faults.look(page, "expired")
    page.get_by_label("Password").fill(world.passwords["anna"])
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(LIVE)
    page.locator("main.drawn").wait_for()
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    page.wait_for_url("**/login")
    expect(page.locator("#ended").is_hidden(), "logging out counts as an ended login")
    close_all(page.context)


def release(browser):
    """A page of a former release offers to reload; reloaded, it is of the new one."""
    context = world.context(browser, "anna", **PHONE)
    page = context.new_page()
    faults.watch(page)
    world.reset()
    world.publish(fixtures.outdoor("anna", fixtures.now()))
    version = page.request.get(f"{world.url}/me").json()["version"]

    def age_page(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace(version, OLD))

    page.route(LIVE, age_page)
    page.route(f"**/assets/{OLD}/**", lambda route: route.continue_(url=route.request.url.replace(OLD, version)))
    page.goto(LIVE)
    page.locator("#bar", has_text="Pacebus was updated.").wait_for()
    faults.look(page, "release")
    page.unroute(LIVE)
    page.locator("#reload").click()
    until(page, "version => document.querySelector('link[rel=icon]').href.includes(version)", version)
    page.locator("main.drawn").wait_for()
    expect(not page.locator("#bar").is_visible(), "the bar stays after the reload")
    close_all(context)


def clocks(browser):
    """Dates stand in the zone of the profile, else of the browser, and on the clock of the browser's language."""
    world.reset()
    overview = fixtures.run_overviews(fixtures.now(), 1)["runs"][0] | {"startsAt": 1795238100}
    world.answers["runs"] = {"runs": [overview]}
    for locale, texts in {
        "en-US": ["Fri 20 Nov 2026, 9:15 pm", "Sat 21 Nov 2026, 6:15 am"],
        "de-DE": ["Fri 20 Nov 2026, 21:15", "Sat 21 Nov 2026, 06:15"],
    }.items():
        world.publish([("pacebus/v1/u/anna/profile", None)])
        context = world.context(browser, "anna", **DESKTOP, locale=locale, timezone_id="America/Los_Angeles")
        page = context.new_page()
        faults.watch(page)
        page.goto(f"{world.url}/virtual-runs")
        page.locator("#runs li", has_text=texts[0]).wait_for()
        world.publish([("pacebus/v1/u/anna/profile", {"revision": 1, "timeZone": "Europe/Berlin"})])
        page.locator("#runs li", has_text=texts[1]).wait_for()
        close_all(context)


with chromium() as browser:
    clocks(browser)
    for minutes in [10, -10]:
        wrong_clock(browser, minutes)
    reload_with_end_pressed(browser)
    back(browser)
    blocked(browser)
    release(browser)
    expired(browser)
# Playwright turns the back-forward cache off, and Chromium without windows has none.
with chromium(program="/usr/bin/chromium", ignore_default_args=["--disable-back-forward-cache"]) as browser:
    expect(back(browser), "the back-forward cache did not keep the page")
faults.finish()
