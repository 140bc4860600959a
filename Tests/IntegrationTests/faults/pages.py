"""Faults while End is pressed on a page in Chromium: pages.py SCENARIO EXECUTABLES WEB_FOLDER.

Playwright's clock moves the page's timers on, so that no scenario waits for them.
"""

import contextlib
import json
import time

from playwright.sync_api import expect, sync_playwright

from network import Bus, Proxy
from world import Person, run, wait

SILENT = "session-engine does not answer. Your press is kept."


class Site:
    """A dashboard with a person who is logged in, in a browser."""

    def __init__(self, world, browser):
        world.start_broker()
        self.bus, self.world, self.browser = Bus(world), world, browser
        self.engine, self.dashboard = world.start_service("session-engine"), world.start_dashboard()
        # Without their summaries a finished workout waits for them.
        for service in ("metrics-aggregator", "route-builder"):
            world.start_service(service)
        self.proxy = Proxy(self.dashboard.port)
        self.person = Person(self.dashboard).logged_in()
        self.context = self.new_context()

    def new_context(self, offset=0):
        context = self.browser.new_context(reduced_motion="reduce")
        context.add_cookies([{"name": "pacebus", "value": self.person.cookies["pacebus"], "url": "http://127.0.0.1"}])
        context.clock.install(time=time.time() + offset)
        return context

    def paused(self, port=None, context=None):
        """A page on which End can be pressed."""
        session = self.person.start()
        assert self.person.press("pause", session)[1]["ok"]
        return self.open(session, port, context), session

    def open(self, session, port=None, context=None):
        page = (context or self.context).new_page()
        page.goto(f"http://127.0.0.1:{port or self.dashboard.port}/live/anna/{session}")
        expect(page.locator("#toggle:enabled")).to_have_text("Resume", timeout=30_000)
        # The clock of the server comes with the first events.
        expect(page.locator("html.ready")).to_be_attached()
        return page


def stored(page):
    return json.loads(page.evaluate("localStorage.getItem('pacebus.presses.anna') ?? '[]'"))


def press_end(page):
    """Returns the press as the page stores it, and the time around the press."""
    page.locator("#end:enabled").click()
    begun = time.time()
    page.locator("#end-confirm").click()
    ended = time.time()
    expect(page.locator("#press")).to_have_text("Ending…")
    presses = stored(page)
    assert len(presses) == 1 and presses[0]["type"] == "end", presses
    # The page knows the server's clock but for the way of a beat, which a busy browser prolongs.
    return presses[0], (begun - 0.5, ended + 0.2)


def finished(site, session, press, around, *pages):
    """The page says so; the workout ended once, at the press, by one command; nothing is pending."""
    for page in pages:
        expect(page.locator("#ended")).to_contain_text("Finished and saved.", timeout=40_000)
        wait(lambda: stored(page) == [], "the press is answered")
    ends = {state["endedAt"] for state in site.bus.of(session, "state") if "endedAt" in state}
    assert len(ends) == 1 and around[0] <= min(ends) <= around[1], (ends, around, press)
    commands = {
        (command["id"], command["at"]) for command in site.bus.of(session, "command") if command["type"] == "end"
    }
    assert {id for id, _ in commands} <= {press["id"]} and len(commands) <= 1, (commands, press)
    assert all(reply["ok"] for reply in site.bus.replies(press["id"]))
    for page in pages:
        page.close()


def move_on(page, unanswered):
    """A second passes for the page, or all that it waits for an answer which does not come within a second."""
    if not unanswered:
        page.clock.fast_forward(1_000)
    elif time.monotonic() - max(unanswered.values()) > 1:
        page.clock.fast_forward(11_000)
    page.wait_for_timeout(50)


def requests_of(page):
    """The requests without an answer, with their times."""
    unanswered = {}
    page.on("request", lambda request: unanswered.update({request: time.monotonic()}))
    page.on("requestfailed", lambda request: unanswered.pop(request, None))
    page.on("response", lambda response: unanswered.pop(response.request, None))
    return unanswered


def bar(page):
    return page.locator("#bar:visible")


def engine_stopped(site):
    """Reload, another tab, back: the press stays one press."""
    page, session = site.paused()
    other = site.open(session)
    site.engine.freeze()
    press, around = press_end(page)
    expect(other.locator("#press")).to_have_text("Ending…")
    expect(other.locator("#end")).to_be_disabled()
    page.clock.fast_forward(11_000)
    expect(page.locator("#press")).to_have_text(SILENT)
    page.reload()
    expect(page.locator("#press")).to_have_text(SILENT)
    page.locator("a.home").click()
    page.locator("#start-new, .cards").first.wait_for(state="attached")
    page.go_back()
    expect(page.locator("#press")).to_have_text(SILENT)
    assert [kept["id"] for kept in stored(page)] == [press["id"]]
    site.engine.thaw()
    finished(site, session, press, around, page, other)


def engine_and_dashboard_killed(site):
    page, session = site.paused()
    site.engine.kill()
    press, around = press_end(page)
    site.dashboard.kill()
    site.dashboard.start()
    page.reload()
    assert [kept["id"] for kept in stored(page)] == [press["id"]]
    site.engine.start()
    finished(site, session, press, around, page)


def dashboard_stopped(site):
    page, session = site.paused()
    site.dashboard.freeze()
    press, around = press_end(page)
    page.clock.fast_forward(21_000)
    expect(bar(page)).to_contain_text("Reconnecting, as of")
    wait(lambda: time.time() > around[1] + 1, "the press is older than its tolerance")
    site.dashboard.thaw()
    page.clock.fast_forward(2_000)
    finished(site, session, press, around, page)


def dashboard_killed_and_clock_stepped(site):
    page, session = site.paused()
    site.dashboard.kill()
    press, around = press_end(page)
    page.clock.set_system_time(time.time() + 600)
    site.dashboard.start()
    page.clock.run_for(3_000)
    finished(site, session, press, around, page)


def broker_killed(site):
    page, session = site.paused()
    site.world.broker.kill()
    expect(bar(page)).to_contain_text("No connection to the broker since")
    press, around = press_end(page)
    site.world.broker.start()
    finished(site, session, press, around, page)


def network_swallows(site):
    """Everything, or only what the server sends: then the workout ends, and the page learns it later."""
    for directions in (["up", "down"], ["down"]):
        page, session = site.paused(site.proxy.port)
        unanswered = requests_of(page)
        site.proxy.swallow(*directions)
        press, around = press_end(page)
        if directions == ["down"]:
            wait(lambda: any("endedAt" in state for state in site.bus.of(session, "state")), "the workout ends")
        # The POST ends, and the silent stream. What the page opens next is swallowed too.
        page.clock.fast_forward(21_000)
        expect(bar(page)).to_contain_text("Reconnecting, as of")
        page.clock.fast_forward(11_000)
        assert [kept["id"] for kept in stored(page)] == [press["id"]]
        site.proxy.swallow()
        wait(lambda: stored(page) == [] or move_on(page, unanswered), "the press is answered")
        wait(lambda: page.locator("#ended").is_visible() or move_on(page, unanswered), "the page reconnects")
        finished(site, session, press, around, page)


def clock_is_wrong(site):
    for offset in (600, -600):
        context = site.new_context(offset)
        page, session = site.paused(context=context)
        site.engine.freeze()
        press, around = press_end(page)
        site.engine.thaw()
        finished(site, session, press, around, page)
        context.close()


def presses(world):
    with chromium() as browser:
        site = Site(world, browser)
        for scenario in (
            engine_stopped,
            engine_and_dashboard_killed,
            dashboard_stopped,
            dashboard_killed_and_clock_stepped,
            broker_killed,
            network_swallows,
            clock_is_wrong,
        ):
            begun = time.monotonic()
            scenario(site)
            print(f"{scenario.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        site.bus.close()


def frozen_broker(world):
    with chromium() as browser:
        site = Site(world, browser)
        page, session = site.paused()
        world.broker.freeze()
        press, around = press_end(page)
        begun = time.monotonic()
        expect(bar(page)).to_contain_text("No connection to the broker since", timeout=40_000)
        assert time.monotonic() - begun < 30
        expect(page.locator("#press")).to_have_text(SILENT)
        world.broker.thaw()
        finished(site, session, press, around, page)
        site.bus.close()


@contextlib.contextmanager
def chromium():
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root; the pages are ours.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


if __name__ == "__main__":
    run([presses, frozen_broker])
