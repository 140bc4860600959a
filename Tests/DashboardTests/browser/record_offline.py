"""A phone's browser records several workouts without a network, its login ends meanwhile, and it opens the recorder for the first
time without a network.
"""

import json
import os
import re

from browser import DESKTOP, Faults, chromium, screenshot, until
from record import HAS_KEPT, SERVICES, Phone, is_whole, look
from system import System
from world import wait

LOST = ("ERR_", "with a status of 401")
LEFT = """() => Object.keys(localStorage).filter(key => /^pacebus\\.(recording|waiting)/.test(key))"""


def workouts(system, user, count):
    """The retained records of a user's workouts, the oldest first, once there are as many and none waits for items."""
    found = {}

    def take(_, __, message):
        # Messages of pages come too.
        if not message.topic.endswith("/workout"):
            return
        workout = json.loads(message.payload)
        found[workout["session"]] = workout

    client = system.connect(system.broker.port)
    client.on_message = take
    client.subscribe(f"pacebus/v1/+/{user}/+/workout")
    wait(lambda: len([each for each in found.values() if "incomplete" not in each]) == count, f"{count} workouts")
    client.loop_stop()
    return sorted(found.values(), key=lambda workout: workout["startedAt"])


def is_recorded(faults, workout, activity, moves):
    faults.expect(workout["activity"] == activity, f"the workout is {workout['activity']}, not {activity}")
    is_whole(faults, workout, moves, moves)


def open_kept(system, browser, faults, user):
    """A phone whose browser has kept the page of the recorder."""
    phone = Phone(system, browser, faults, user, service_workers="allow")
    phone.page.locator("#record-start").wait_for()
    until(phone.page, HAS_KEPT, "/record")
    until(phone.page, "() => navigator.serviceWorker.controller !== null")
    return phone


def leave_network(phone):
    """Also ends the connection that the page has."""
    phone.context.set_offline(True)
    phone.system.dashboard.kill()
    phone.system.dashboard.start()


def stop(phone):
    phone.press("Pause")
    phone.page.locator("#status", has_text="Paused").wait_for()
    phone.end()
    phone.page.locator("#saving", has_text="Saved in this browser").wait_for()


def record_another(phone):
    phone.page.locator("#another").click()
    phone.page.locator("#record-start").wait_for()
    phone.page.locator("#setup-waiting", has_text="saved in this browser").wait_for()


def two(system, browser, faults):
    """Two workouts without a network, with a crash in each: both arrive when it is back."""
    phone = open_kept(system, browser, faults, "anna")
    phone.context.set_offline(True)
    phone.page.reload()
    phone.start("cycling")
    phone.move(6)
    phone.crash()
    stop(phone)
    faults.look(phone.page, "saved without a network")
    screenshot(phone.page, "record-another")
    phone.crash()
    record_another(phone)
    faults.look(phone.page, "with one that waits")
    screenshot(phone.page, "record-waiting")
    phone.start("running")
    phone.page.locator("#recorder-lines", has_text="1 earlier workout to send").wait_for()
    phone.move(4)
    phone.crash()
    phone.move(2)
    stop(phone)
    phone.context.set_offline(False)
    phone.is_saved()
    first, second = workouts(system, "anna", 2)
    is_recorded(faults, first, "cycling", 6)
    is_recorded(faults, second, "running", 6)
    left = phone.page.evaluate(LEFT)
    faults.expect(left == [], f"this browser still keeps {left}")


def refused(system, browser, faults):
    """A watch begins a workout while one waits: Home and the form say what becomes of the one that waits, and can discard it."""
    phone = open_kept(system, browser, faults, "emil")
    leave_network(phone)
    phone.start("cycling")
    phone.move(2)
    stop(phone)
    system.pacebus("emil", "start", "--countdown", "0")
    record_another(phone)
    phone.context.set_offline(False)
    phone.page.goto(system.url)
    phone.page.locator("#record", has_text="A recorded workout waits to be sent").wait_for()
    faults.look(phone.page, "home with one that waits")
    screenshot(phone.page, "home-waiting")
    phone.page.locator("#record").click()
    says = phone.page.locator("#setup-waiting")
    says.filter(has_text="while another workout is unfinished. End that one").wait_for()
    look(phone.page, faults, "waiting-refused")
    discard = phone.page.get_by_role("button", name="Discard it…")
    discard.click()
    look(phone.page, faults, "waiting-discard")
    phone.page.get_by_role("button", name="Keep it").click()
    # The other one ends.
    system.pacebus("emil", "pause")
    system.pacebus("emil", "end")
    phone.page.reload()
    says.filter(has_text="on the server").wait_for()
    faults.expect(not discard.is_visible(), "what the server has can be discarded")
    wait(lambda: len(workouts(system, "emil", 2)) == 2, "both are there")
    # Another one is discarded.
    leave_network(phone)
    phone.start("cycling")
    phone.move(2)
    stop(phone)
    system.pacebus("emil", "start", "--countdown", "0")
    record_another(phone)
    phone.context.set_offline(False)
    discard.click()
    phone.page.get_by_role("button", name="Discard", exact=True).click()
    says.filter(has_text="is discarded").wait_for()
    faults.expect(not discard.is_visible(), "nothing is left to discard")
    left = phone.page.evaluate(LEFT)
    faults.expect(left == [] and phone.kept() == 0, f"this browser still keeps {left} and {phone.kept()} items")
    phone.page.goto(system.url)
    phone.page.locator("#record", has_text="Record with this device").wait_for()


def before_the_start(system, browser, faults):
    """A workout that the server knows ends without a network: the form for the next one sends it, and replaces nothing."""
    phone = open_kept(system, browser, faults, "ben")
    phone.start("cycling")
    phone.move(3)
    phone.page.locator("#recorder-lines", has_text="The server has all").wait_for()
    leave_network(phone)
    phone.move(3)
    stop(phone)
    record_another(phone)
    phone.context.set_offline(False)
    phone.page.locator("#setup-waiting", has_text="on the server").wait_for()
    phone.start("running")
    phone.move(8)
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    first, second = workouts(system, "ben", 2)
    is_recorded(faults, first, "cycling", 6)
    is_recorded(faults, second, "running", 8)


def sign_out_everywhere(system, browser, phone):
    """In another browser; the page says so within seconds."""
    with system.context(browser, phone.user, **DESKTOP) as other:
        page = other.new_page()
        page.goto(system.url)
        page.locator("#menu summary").click()
        page.locator("#log-out-everywhere").click()
        page.wait_for_url(re.compile("/login"))
    phone.page.locator("#notices", has_text="Your login has ended").wait_for()


def login_ended(system, browser, faults):
    """A login that ends elsewhere stops no recording. After a login, on the page or when the workout has ended, all arrives."""
    phone = Phone(system, browser, faults, "carla")
    phone.start("cycling")
    phone.move(3)
    sign_out_everywhere(system, browser, phone)
    phone.move(3)
    look(phone.page, faults, "login-ended")
    password = phone.page.get_by_label("Password")
    phone.touch(password)
    password.fill("wrong")
    phone.touch(login_button(phone.page))
    phone.page.locator("#login-error", has_text="password").wait_for()
    phone.touch(password)
    password.fill(system.passwords["carla"])
    phone.touch(login_button(phone.page))
    phone.page.locator("#notices", has_text="Your login has ended").wait_for(state="detached")
    phone.page.locator("#recorder-lines", has_text="The server has all").wait_for()
    phone.move(3)
    sign_out_everywhere(system, browser, phone)
    phone.move(3)
    phone.press("Pause")
    phone.page.locator("#status", has_text="Paused").wait_for()
    phone.end()
    phone.page.wait_for_url("**/login?to=*")
    phone.page.get_by_label("Password").fill(system.passwords["carla"])
    login_button(phone.page).click()
    phone.is_saved()
    (workout,) = workouts(system, "carla", 1)
    is_recorded(faults, workout, "cycling", 12)
    phone.context.close()


class Visitor(Phone):
    """A phone that has never opened the recorder."""

    path = "/"


def first_visit(system, browser, faults):
    """After a visit of Home alone, the recorder opens without a network, and records."""
    phone = Visitor(system, browser, faults, "dora", service_workers="allow")
    phone.page.locator("main.drawn").wait_for()
    until(phone.page, HAS_KEPT, "/record")
    until(phone.page, "() => navigator.serviceWorker.controller !== null")
    phone.context.set_offline(True)
    phone.path = "/record"
    phone.page.goto(system.url + phone.path)
    phone.start("cycling")
    phone.move(4)
    phone.crash()
    phone.move(2)
    faults.look(phone.page, "a first recording without a network")
    screenshot(phone.page, "record-first-visit")
    stop(phone)
    phone.context.set_offline(False)
    phone.is_saved()
    (workout,) = workouts(system, "dora", 1)
    is_recorded(faults, workout, "cycling", 6)


def login_button(page):
    return page.get_by_role("button", name="Log in", exact=True)


SCENARIOS = [two, refused, before_the_start, login_ended, first_visit]

if __name__ == "__main__":
    with System(*SERVICES) as system, chromium() as browser:
        faults = Faults(system)
        for scenario in SCENARIOS:
            if scenario.__name__.startswith(tuple(os.environ.get("ONLY", "").split(","))):
                found = list(faults.found)
                scenario(system, browser, faults)
                # What the browser logs of lost connections and logins is no fault.
                new = [fault for fault in faults.found[len(found) :] if not any(text in fault for text in LOST)]
                faults.found[:] = found + new
        faults.finish()
