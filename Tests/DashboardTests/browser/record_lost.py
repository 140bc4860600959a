"""What a phone records outlasts a server that has lost the session, a discarding by mistake, and a watch that began later."""

import os

from browser import Faults, chromium, close_all, until
from record import SERVICES, Phone, saved
from system import System

IS_REMOVED = "user => !localStorage.getItem(`pacebus.recording.${user}`)"


def go_offline(phone):
    phone.context.set_offline(True)
    # Chromium keeps connections that it has.
    phone.system.broker.kill()
    phone.system.broker.start()


def restored(system, browser, faults):
    """An engine without the session, as after a restore of an older backup, gets all of it again."""
    phone = Phone(system, browser, faults, "anna")
    phone.start()
    phone.move(3)
    phone.page.locator("#recorder-lines", has_text="The server has all").wait_for()
    engine = system.running["session-engine"]
    engine.kill()
    for file in system.folder.glob("session-engine.sqlite*"):
        file.unlink()
    engine.start()
    phone.move(2)
    phone.press("Pause")
    phone.page.locator("#recorder-lines", has_text="The server has all").wait_for()
    phone.end()
    phone.is_saved()
    saved(system, faults, 5)
    close_all(phone.context)


def discarded(system, browser, faults):
    """A workout that was discarded without a connection has all of its items when it is recovered."""
    found = list(faults.found)
    phone = Phone(system, browser, faults, "ben")
    phone.start()
    phone.move(2)
    phone.page.locator("#recorder-lines", has_text="The server has all").wait_for()
    go_offline(phone)
    phone.move(4)
    phone.page.locator("#session-menu summary").click()
    phone.page.locator("#discard").click()
    phone.page.locator("#discard-confirm").click()
    phone.page.locator("#ended", has_text="discarded").wait_for()
    phone.context.set_offline(False)
    until(phone.page, IS_REMOVED, "ben")
    phone.page.locator("#recover").click()
    # A recording that began again would not open the page of the workout.
    phone.page.wait_for_url("**/workout/**")
    faults.expect(phone.page.evaluate(IS_REMOVED, "ben"), "recovering begins a recording of this browser again")
    saved(system, faults, 6, user="ben")
    close_all(phone.context)
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


def later_watch(system, browser, faults):
    """A watch that begins while the phone records without a connection."""
    found = list(faults.found)
    phone = Phone(system, browser, faults, "carla")
    go_offline(phone)
    phone.start()
    phone.move(3)
    system.pacebus("carla", "start", "--countdown", "0")
    phone.context.set_offline(False)
    phone.page.locator("#notices", has_text="another one is unfinished").wait_for()
    phone.page.get_by_role("button", name="Discard the other workout").click()
    phone.page.locator("#notices", has_text="another one is unfinished").wait_for(state="detached")
    phone.page.locator("#recorder-lines", has_text="The server has all").wait_for()
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    saved(system, faults, 3, user="carla")
    close_all(phone.context)
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


def other_phone(system, browser, faults):
    """Who takes another phone while a workout is under way is asked before it is discarded."""
    system.pacebus("dora", "start", "--countdown", "0")
    phone = Phone(system, browser, faults, "dora")
    page = phone.page
    page.locator("#setup-form [name=countdown][value='0']").check(force=True)
    page.locator("#record-start").click()
    page.locator("#replace-dialog", has_text="Discard your current workout?").wait_for()
    faults.look(page, "discard the current workout")
    page.get_by_role("button", name="Keep it").click()
    faults.expect(page.locator("#setup").is_visible(), "a workout begins without a confirmation")
    # The question discards nothing.
    system.pacebus("dora", "lap")
    page.locator("#record-start").click()
    page.locator("#replace-confirm").click()
    page.locator("#recorder").wait_for()
    phone.move(2)
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    close_all(phone.context)


def silent_network(system, browser, faults):
    """On a network that neither answers nor fails, a recording continues."""
    phone = Phone(system, browser, faults, "emil")
    phone.start()
    phone.move(2)
    phone.context.route("**/me", lambda _: None)
    phone.page.reload()
    phone.page.locator("#recorder").wait_for()
    phone.move(2)
    phone.press("Pause")
    phone.context.unroute("**/me")
    phone.end()
    phone.is_saved()
    saved(system, faults, 4, user="emil")
    close_all(phone.context)


if __name__ == "__main__":
    with System(*SERVICES) as system, chromium() as browser:
        faults = Faults(system)
        for scenario in [restored, discarded, later_watch, other_phone, silent_network]:
            if scenario.__name__.startswith(tuple(os.environ.get("ONLY", "").split(","))):
                scenario(system, browser, faults)
        faults.finish()
