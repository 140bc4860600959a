"""Faults while people press: a broker that is killed, hangs or restarts, a dashboard that is killed, logins that end elsewhere,
two browsers, and a browser that is killed.
"""

import os
import pathlib
import re
import signal
import tempfile
import time

import fixtures
from browser import ARGUMENTS, DESKTOP, PHONE, PROGRAM, close_all, with_timeout
from world import run, wait

LIVE = f"/live/anna/{fixtures.session_of('anna')}"


def paused(now):
    """Only a paused workout can be ended."""
    return fixtures.outdoor("anna", now, status="paused", segments=[[now - 600, now - 20]])


def open_live(world, browser, faults, messages, device=PHONE):
    world.publish(messages)
    page = world.context(browser, "anna", **device, reduced_motion="reduce").new_page()
    # A connection that fails is logged by the browser.
    page.on("pageerror", lambda error: faults.found.append(f"error: {error.stack or error}"))
    page.goto(world.url + LIVE)
    page.locator("main.drawn").wait_for()
    return page


def end_workout(page):
    page.locator("#end:enabled").click()
    page.locator("#end-confirm").click()
    page.locator("#press", has_text="Ending…").wait_for()


def only_id(world, kind):
    """The id of the only press of a type, once it has been sent."""
    sent = wait(lambda: world.sent(kind), f"{kind} is sent")
    if len(sent) != 1:
        raise SystemExit(f"{len(sent)} presses {kind}")
    return sent[0]["id"]


def answer_end(world, page):
    """session-engine ends the workout and replies."""
    now = fixtures.now()
    world.publish(fixtures.outdoor("anna", now, status="completed", segments=[[now - 600, now]], endReason="ended"))
    world.answer_newest(revision=2)
    page.wait_for_url(re.compile("/workout/anna/"), wait_until="commit")


def figure(world, page, distance):
    """A later figure reaches the page."""
    world.publish([(fixtures.topic("anna", "metrics"), fixtures.metrics("anna", fixtures.now(), d=distance))])
    page.locator("[data-key='distance'] .number", has_text=f"{distance / 1000:.2f}").wait_for()


def broker_killed(world, browser, faults):
    """The page keeps what it has and says since when; a press waits, and is sent once the broker is back."""
    page = open_live(world, browser, faults, paused(fixtures.now()))
    world.broker.kill()
    page.locator("#bar", has_text=re.compile(r"Reconnecting, as of \d")).wait_for()
    faults.expect(page.locator("[data-key='distance'] .number").inner_text() == "8.31", "the totals are gone")
    end_workout(page)
    faults.expect(not world.sent("end"), "a press was sent without a broker")
    world.broker.start()
    page.locator("#bar").wait_for(state="hidden")
    press = only_id(world, "end")
    world.publish(paused(fixtures.now()))
    answer_end(world, page)
    faults.expect(only_id(world, "end") == press, "the press was made twice")
    close_all(page.context)


def broker_hung(world, browser, faults):
    """A broker that hangs is noticed; what was pressed meanwhile is done once."""
    page = open_live(world, browser, faults, paused(fixtures.now()))
    world.broker.freeze()
    try:
        begun = time.monotonic()
        end_workout(page)
        page.locator("#bar", has_text="Reconnecting").wait_for()
        took = time.monotonic() - begun
        # After 20 s by the page's clock.
        faults.expect(took < 60, f"a hung broker is noticed after {took:.0f} s")
    finally:
        world.broker.thaw()
    page.locator("#bar").wait_for(state="hidden")
    press = only_id(world, "end")
    answer_end(world, page)
    faults.expect(only_id(world, "end") == press, "the press was made twice")
    close_all(page.context)


def broker_restarted(world, browser, faults):
    """A broker that forgot everything: the page follows what services publish again."""
    page = open_live(world, browser, faults, fixtures.outdoor("anna", fixtures.now()))
    for distance in (9100, 9200):
        world.broker.process.terminate()
        world.broker.process.wait(20)
        world.broker.start()
        page.locator("#bar").wait_for(state="hidden")
        world.publish(fixtures.outdoor("anna", fixtures.now()))
        figure(world, page, distance)
    close_all(page.context)


def dashboard_killed(world, browser, faults):
    """With End pressed, the dashboard is killed, and the page is loaded again by another: ended once, at the time of the press."""
    page = open_live(world, browser, faults, paused(fixtures.now()))
    end_workout(page)
    press = only_id(world, "end")
    at = world.sent("end")[0]["at"]
    world.dashboard.kill()
    page.locator("#bar", has_text="Reconnecting").wait_for()
    world.dashboard.start()
    page.locator("#bar").wait_for(state="hidden")
    world.dashboard.kill()
    world.dashboard.start()
    page.reload()
    page.locator("#press", has_text="Ending…").wait_for()
    answer_end(world, page)
    sent = world.sent("end")
    faults.expect([(each["id"], each["at"]) for each in sent] == [(press, at)], f"End became {sent}")
    close_all(page.context)


def login_ended(world, browser, faults):
    """Logged out everywhere in one browser, the other one goes to the login page within seconds, and back in after a login."""
    first = open_live(world, browser, faults, fixtures.outdoor("anna", fixtures.now()))
    second = open_live(world, browser, faults, fixtures.outdoor("anna", fixtures.now()), DESKTOP)

    def sign_out(topic, press):
        signed_out = {"revision": int(time.time() * 1000), "before": time.time(), "logins": []}
        world.publish([("pacebus/v1/u/anna/signed-out", signed_out)])
        return {}

    world.answers["all"] = sign_out
    second.locator("#menu summary").click()
    second.locator("#log-out-everywhere").click()
    for page in (first, second):
        page.wait_for_url(re.compile("/login"))
    first.get_by_label("Name").fill("anna")
    first.get_by_label("Password").fill(world.passwords["anna"])
    first.get_by_role("button", name="Log in").click()
    first.wait_for_url(f"**{LIVE}")
    figure(world, first, 9300)
    # A login that another place ends alone.
    login = first.request.get(f"{world.url}/me").json()["login"]
    ended = {
        "revision": int(time.time() * 1000) + 1,
        "before": time.time() - 60,
        "logins": [{"id": login, "at": time.time()}],
    }
    world.publish([("pacebus/v1/u/anna/signed-out", ended)])
    first.wait_for_url(re.compile("/login"))
    for page in (first, second):
        close_all(page.context)


def two_browsers(world, browser, faults):
    """What one browser pauses, the other one shows; its own press had the same goal, and is no error."""
    now = fixtures.now()
    one = open_live(world, browser, faults, fixtures.outdoor("anna", now))
    two = open_live(world, browser, faults, fixtures.outdoor("anna", now), DESKTOP)
    one.locator("#toggle", has_text="Pause").click()
    two.locator("#toggle", has_text="Pause").click()
    wait(lambda: len(world.sent("pause")) == 2, "both presses are sent")
    first, second = world.sent("pause")
    refusal = {"error": {"code": "invalid_state", "message": "pause: the session is paused"}}
    world.publish(paused(fixtures.now()))
    for press, answer in ((first, {"revision": 2}), (second, refusal)):
        world.outcomes[press["id"]] = answer
        world.reply(world.topic_of(press), press, answer)
    for page in (one, two):
        page.locator("#toggle", has_text="Resume").wait_for()
    for page in (one, two):
        page.locator("#press").wait_for(state="hidden")
    for page in (one, two):
        close_all(page.context)


def browser_killed(world, browser, faults):
    """A press without an answer outlasts kill -9 of the browser, once that has written it: Chromium takes some seconds."""
    world.publish(paused(fixtures.now()))
    folder = tempfile.mkdtemp(prefix="pacebus-browser-")

    def start():
        context = with_timeout(
            browser.browser_type.launch_persistent_context(folder, executable_path=PROGRAM, args=ARGUMENTS, **PHONE)
        )
        world.log_in(context, "anna")
        page = context.pages[0]
        page.goto(world.url + LIVE)
        page.locator("main.drawn").wait_for()
        return page

    page = start()
    end_workout(page)
    press = only_id(world, "end")
    logs = pathlib.Path(folder, "Default/Local Storage/leveldb")
    wait(lambda: any(press.encode() in log.read_bytes() for log in logs.glob("*.log")), "the press is on the disk")
    kill_browser(folder)
    page = start()
    page.locator("#press", has_text="Ending…").wait_for()
    answer_end(world, page)
    faults.expect(only_id(world, "end") == press, "the press was made twice")
    close_all(page.context)


def kill_browser(folder):
    """Kills the processes of the browser that has a profile, by their ids."""
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    if f"--user-data-dir={folder}".encode() in file.read().split(b"\0"):
                        os.kill(int(process), signal.SIGKILL)
            except OSError:
                pass


if __name__ == "__main__":
    run([broker_killed, broker_hung, broker_restarted, dashboard_killed, login_ended, two_browsers, browser_killed])
