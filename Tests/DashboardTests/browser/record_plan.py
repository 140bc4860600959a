"""A phone's browser records a planned workout, set by set, with real services."""

import json
import os
import re

from browser import PHONE, Faults, chromium, close_all, open_page, screenshot, until
from record import HAS_KEPT, SERVICES, Phone, look
from system import System

PLAN = {
    "name": "Two Lifts",
    "focus": ["strength"],
    "sections": [
        {
            "name": "Main",
            "items": [
                {
                    "id": "squat",
                    "name": "Squat",
                    "sets": [
                        {"repetitions": 8, "weight": 60, "rest": 6},
                        {"repetitions": 8, "weight": 60, "rest": 6},
                    ],
                }
            ],
        },
        {
            "name": "Floor",
            "items": [
                {
                    "id": "row",
                    "name": "Row",
                    "sets": [
                        {"repetitions": 10, "weight": 40, "rest": 6},
                        {"repetitions": 10, "weight": 40, "rest": 6},
                    ],
                }
            ],
        },
    ],
}
KEPT_SETS = """user => (JSON.parse(localStorage.getItem(`pacebus.recording.${user}`))?.commands ?? [])
    .filter(({type, revision}) => type === 'completeSet' && revision === undefined).length"""


class Lifter(Phone):
    def choose(self, name):
        self.page.locator("#setup-plan-field").wait_for()
        self.page.locator("#setup-plan").select_option(label=name)

    def set_up(self, **values):
        """Turns the steppers to other repetitions and another load, by their buttons."""
        for kind, wanted in values.items():
            stepper = self.page.locator(f".stepper[data-step={kind}]")
            fewer, more = stepper.get_by_role("button").all()
            while (shown := float(stepper.locator("output").inner_text())) != wanted:
                self.touch(more if shown < wanted else fewer)

    def complete(self):
        self.touch(self.page.locator("#complete-set"))

    def shows(self, exercise, set_, progress):
        shows(self.page, exercise, set_, progress)


def shows(page, exercise, set_, progress):
    for key, text in [("exercise", exercise), ("set", set_), ("progress", progress)]:
        page.locator(f"[data-plan='{key}']").filter(has_text=re.compile(f"^{re.escape(text)}$")).wait_for()


def leave_network(system, context):
    """Also ends the connection that the page has."""
    context.set_offline(True)
    system.dashboard.kill()
    system.dashboard.start()


def sets_of(workout):
    return {
        item: [(each["round"], each["set"], each["repetitions"], each["weight"]) for each in done]
        for item, done in workout["progress"]["completed"].items()
    }


def save_plan(system, user):
    file = system.folder / "plan.json"
    file.write_text(json.dumps(PLAN))
    system.pacebus(user, "save-plan", file)
    return file


def plan(system, browser, faults):
    """Sets with their own repetitions and loads, a rest, a crash, the next section, a set without a network that a watch
    completes too: each set counts once.
    """
    found = list(faults.found)
    save_plan(system, "anna")
    phone = Lifter(system, browser, faults)
    page = phone.page
    phone.choose("Two Lifts")
    faults.expect(
        page.locator("#setup-form [name=activity]:checked").get_attribute("value") == "traditionalStrength",
        "the plan does not choose its activity",
    )
    page.locator("#setup-form [name=countdown][value='0']").check(force=True)
    page.locator("#record-start").click()
    phone.shows("Squat", "Set 1 of 2", "0/2 exercises")
    faults.look(page, "a plan")
    screenshot(page, "record-plan")
    phone.set_up(repetitions=9, weight=62.5)
    phone.complete()
    page.locator("[data-plan='phase']", has_text="Rest").wait_for()
    phone.shows("Squat", "Set 2 of 2", "0/2 exercises")
    page.locator("[data-plan='phase']", has_text="Time").wait_for()
    # The press is kept, and the page ends before its answer.
    system.running["session-engine"].freeze()
    phone.complete()
    until(page, f"user => ({KEPT_SETS})(user) === 1", "anna")
    phone.crash()
    system.running["session-engine"].thaw()
    page = phone.page
    phone.shows("Row", "Set 1 of 2", "1/2 exercises")
    page.locator("[data-plan='block']", has_text="Floor").wait_for()
    # Without a network.
    leave_network(system, phone.context)
    phone.set_up(repetitions=12)
    phone.complete()
    page.locator("#recorder-lines", has_text="1 press to send").wait_for()
    page.locator("#press", has_text="No connection. Your press is kept.").wait_for()
    faults.look(page, "a set without a network")
    screenshot(page, "record-plan-offline")
    # No press waits for the answer of the one before.
    phone.press("Pause")
    page.locator("#status", has_text="Paused").wait_for()
    phone.press("Resume")
    page.locator("#toggle", has_text="Pause").wait_for()
    # A watch completes the same set.
    system.pacebus("anna", "complete-set")
    phone.context.set_offline(False)
    phone.shows("Row", "Set 2 of 2", "1/2 exercises")
    # Back to an exercise, and undone.
    phone.complete()
    page.locator("#finish").wait_for()
    phone.touch(page.get_by_role("button", name="Undo"))
    phone.shows("Row", "Set 2 of 2", "1/2 exercises")
    phone.set_up(weight=45)
    phone.complete()
    page.locator("#finish").wait_for()
    phone.press("Pause")
    page.locator("#status", has_text="Paused").wait_for()
    phone.end()
    phone.is_saved()
    workout = system.newest_workout("anna")
    sets = sets_of(workout)
    entered = {"squat": [(1, 0, 9, 62.5), (1, 1, 8, 60)], "row": [(1, 0, 12, 40), (1, 1, 10, 45)]}
    faults.expect(sets == entered, f"the sets are {sets}")
    close_all(phone.context)
    # What the browser logs of lost connections is no fault.
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


def without_network(system, browser, faults):
    """A plan that begins without a network, and after a crash: the page says when it appears."""
    found = list(faults.found)
    save_plan(system, "carla")
    phone = Lifter(system, browser, faults, "carla", service_workers="allow")
    phone.choose("Two Lifts")
    until(phone.page, HAS_KEPT, "/record")
    until(phone.page, "() => navigator.serviceWorker.controller !== null")
    leave_network(system, phone.context)
    phone.start("traditionalStrength")
    says = "#notices >> text=The plan appears when there is a connection"
    phone.page.locator(says).wait_for()
    look(phone.page, faults, "plan-without-network")
    phone.crash()
    phone.page.locator(says).wait_for()
    phone.press("Pause")
    phone.page.locator("#status", has_text="Paused").wait_for()
    phone.context.set_offline(False)
    phone.shows("Squat", "Set 1 of 2", "0/2 exercises")
    phone.page.locator(says).wait_for(state="detached")
    phone.end()
    phone.is_saved()
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


def late_set(system, browser, faults):
    """A set completed on Live without a network and by a watch meanwhile counts once."""
    found = list(faults.found)
    system.pacebus("ben", "start", "--plan", save_plan(system, "ben"), "--countdown", "0")
    page = open_page(system, browser, faults, "/", "ben", PHONE)
    page.locator("#resume").click()
    page.wait_for_url("**/live/ben/*")
    shows(page, "Squat", "Set 1 of 2", "0/2 exercises")
    leave_network(system, page.context)
    page.locator("#complete-set").click()
    page.locator("#press", has_text="Completing the set…").wait_for()
    system.pacebus("ben", "complete-set")
    page.context.set_offline(False)
    until(page, "() => !document.querySelector('#complete-set').disabled")
    system.pacebus("ben", "pause")
    system.pacebus("ben", "end")
    sets = sets_of(system.newest_workout("ben"))
    faults.expect(sets == {"squat": [(1, 0, 8, 60)]}, f"the sets on Live are {sets}")
    close_all(page.context)
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


SCENARIOS = [plan, late_set, without_network]

if __name__ == "__main__":
    with System(*SERVICES) as system, chromium() as browser:
        faults = Faults(system)
        for scenario in SCENARIOS:
            if scenario.__name__.startswith(tuple(os.environ.get("ONLY", "").split(","))):
                scenario(system, browser, faults)
        faults.finish()
