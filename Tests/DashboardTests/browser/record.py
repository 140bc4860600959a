"""A phone's browser records, with an emulated position, real services and a real broker. The environment is as for the world."""

import contextlib
import math
import os
import re

from playwright.sync_api import Error

from browser import PHONE, TEXT_FAULTS, Faults, chromium, close, close_all, screenshot, until
from system import System
from world import wait

SERVICES = ["session-engine", "metrics-aggregator", "route-builder", "exporter"]
STEP = 4
LATITUDE, LONGITUDE = 52.5, 13.4
METRES_PER_DEGREE = 6_371_008.8 * math.pi / 180


class Phone:
    """A phone that moves to the north, `STEP` metres for each position. `path` is that of pages that it opens."""

    path = "/record"

    def __init__(self, system, browser, faults, user="anna", **options):
        self.system, self.faults, self.user, self.moved = system, faults, user, 0
        self.options = {**PHONE, **options, "reduced_motion": "reduce"}
        self.launch(browser)

    def launch(self, browser):
        self.context = self.system.context(browser, self.user, **self.options)
        self.context.grant_permissions(["geolocation"], origin=self.system.url)
        self.page = self.open()

    def open(self):
        self.place()
        page = self.context.new_page()
        self.faults.watch(page)
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(self.system.url + self.path)
        return page

    def place(self):
        latitude = LATITUDE + self.moved / METRES_PER_DEGREE
        self.context.set_geolocation({"latitude": latitude, "longitude": LONGITUDE, "accuracy": 5})

    def start(self, activity="cycling"):
        self.page.locator(f"#setup-form [name=activity][value={activity}]").check(force=True)
        self.page.locator("#setup-form [name=countdown][value='0']").check(force=True)
        self.page.locator("#record-start").click()
        self.page.locator("#recorder").wait_for()

    def crash(self):
        """The page's process ends, and a new page opens."""
        with self.page.expect_event("crash"), contextlib.suppress(Error):
            self.page.goto("chrome://crash")
        # A position cannot be set while a page of the context has crashed. Chromium may have closed it already.
        with contextlib.suppress(Error):
            close(self.page)
        self.page = self.open()
        self.page.locator("#recorder").wait_for()

    def kept(self):
        """Positions on the disk of this browser."""
        return self.page.evaluate(KEPT, self.user)

    def move(self, count):
        """Each position is kept before the next one."""
        for _ in range(count):
            before = self.kept()
            self.moved += STEP
            self.place()
            until(self.page, f"async ([user, before]) => await ({KEPT})(user) > before", [self.user, before])
            self.page.wait_for_timeout(400)

    def press(self, name):
        self.touch(self.page.locator("#controls").get_by_role("button", name=re.compile(name)))

    def touch(self, button):
        """Presses a button, after the padlock if touches are locked."""
        # A touch: touches are not locked for the next 10 s.
        self.page.evaluate("dispatchEvent(new PointerEvent('pointerdown'))")
        if self.page.locator("#lock-dialog[open]").count():
            box = self.page.locator("#unlock").bounding_box()
            self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            self.page.mouse.down()
            self.page.locator("#lock-dialog").wait_for(state="hidden")
            self.page.mouse.up()
        button.click()

    def end(self):
        self.press("End")
        self.page.locator("#end-confirm").click()

    def is_saved(self):
        """The page of the workout opens, and this browser keeps nothing of it."""
        self.page.wait_for_url("**/workout/**")
        self.page.locator("main.drawn").wait_for()
        kept = self.page.evaluate("() => Object.keys(localStorage).filter(key => key.startsWith('pacebus.recording'))")
        self.faults.expect(kept == [] and self.kept() == 0, f"this browser still keeps {kept} and {self.kept()} items")


KEPT = """async (user) => {
    const database = await new Promise((resolve, reject) => {
        const request = indexedDB.open(`pacebus.streams.${user}`);
        request.onupgradeneeded = () => request.transaction.abort();
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => resolve(undefined);
    });
    if (!database) return 0;
    const count = await new Promise(resolve => {
        const request = database.transaction('items').objectStore('items').getAllKeys();
        request.onsuccess = () => resolve(request.result.filter(([key]) => key.includes('/locations/')).length);
    });
    database.close();
    return count;
}"""


LATER = """() => {
    const now = Date.now;
    Date.now = () => now() + 3_600_000;
    Object.defineProperty(GeolocationPosition.prototype, 'timestamp', {get: () => Date.now()});
}"""
REFUSED = """() => {
    const {textContent: text} = document.querySelector('#position-state');
    if (!text) document.querySelector('#allow-position').click();
    return text.includes('may not use the position');
}"""
HAS_KEPT = """async (key) => {
    for (const name of await caches.keys())
        for (const {url} of await (await caches.open(name)).keys()) if (new URL(url).pathname === key) return true;
    return false;
}"""


def is_whole(faults, workout, moves, positions):
    """The positions are there. Smoothing shortens a way at its ends and where the phone stood still, as on a slow machine."""
    count = sum(count for name, count in workout["next"].items() if name.startswith("locations/"))
    faults.expect(count >= positions, f"of {positions} positions, the workout has {workout['next']}")
    metres = (moves - 1) * STEP
    faults.expect(
        0.7 * metres - 2 * STEP <= workout["distance"] <= 1.1 * metres + STEP,
        f"{workout['distance']} m instead of {metres} m",
    )
    faults.expect("incomplete" not in workout, "the workout is incomplete")


def saved(system, faults, moves, user="anna", positions=None):
    """The newest workout, by the record of session-engine, which has all positions of a way of so many moves."""
    workout = wait(lambda: system.newest_workout(user), "the workout is published")
    is_whole(faults, workout, moves, moves if positions is None else positions)
    return workout


def look(page, faults, name):
    """On a phone and a small one, light and dark."""
    for theme, width, height in [("light", 390, 844), ("dark", 390, 844), ("light", 320, 568)]:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        faults.look(page, f"{name}, {theme}, {width} px")
        faults.found += [f"{name}, {width} px: {text}" for text in page.evaluate(TEXT_FAULTS, width)]
        screenshot(page, f"record-{name}-{theme}-{width}")
    page.set_viewport_size({"width": 390, "height": 844})


def records(system, browser, faults):
    """From Start to the page of the workout."""
    phone = Phone(system, browser, faults)
    page = phone.page
    page.locator("#position-state", has_text="known to ±5 m").wait_for()
    look(page, faults, "start")
    phone.start()
    phone.move(20)
    page.locator("#recorder-lines", has_text="Position: ±5 m").wait_for()
    page.locator("[data-key=distance] .number", has_text="0.0").wait_for()
    look(page, faults, "active")
    # Without a touch and without a position.
    page.locator("#notices", has_text="No position since").wait_for()
    page.locator("#lock-dialog[open]").wait_for()
    phone.press("Pause")
    page.locator("#status", has_text="Paused").wait_for()
    phone.end()
    phone.is_saved()
    saved(system, faults, 20)
    close_all(phone.context)


def killed(system, browser, faults):
    """A reload and a crashed tab lose nothing, also with a press that the server does not have."""
    phone = Phone(system, browser, faults)
    phone.start()
    phone.move(5)
    phone.page.reload()
    phone.page.locator("#recorder").wait_for()
    for _ in range(5):
        phone.move(2)
        phone.crash()
    home = phone.context.new_page()
    home.goto(system.url)
    home.locator("#record", has_text="Continue the recording").wait_for()
    close(home)
    phone.move(2)
    phone.press("Pause")
    phone.crash()
    phone.page.locator("#status", has_text="Paused").wait_for()
    phone.end()
    phone.is_saved()
    saved(system, faults, 17)
    close_all(phone.context)


def two_tabs(system, browser, faults):
    """One tab records. The other one shows the workout, and records when the first one is closed."""
    phone = Phone(system, browser, faults)
    waiting = phone.open()
    waiting.locator("#record-start").wait_for()
    phone.start()
    phone.move(3)
    waiting.locator("#recorder-lines", has_text="Another tab of this browser records").wait_for()
    waiting.locator("#status", has_text="Active").wait_for(state="attached")
    close(phone.page)
    phone.page = waiting
    waiting.locator("#recorder-lines", has_text="Position").wait_for()
    phone.move(3)
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    saved(system, faults, 6)
    close_all(phone.context)


def offline(system, browser, faults):
    """A workout without a network from its start to its end, with a crash in between, is sent when the network is back."""
    found = list(faults.found)
    phone = Phone(system, browser, faults, service_workers="allow")
    phone.page.locator("#record-start").wait_for()
    until(phone.page, HAS_KEPT, "/record")
    until(phone.page, "() => navigator.serviceWorker.controller !== null")
    phone.context.set_offline(True)
    phone.page.reload()
    phone.start()
    phone.move(8)
    phone.page.locator("[data-key=distance] .number", has_text="0.03").wait_for()
    phone.page.locator("#recorder-lines", has_text="estimate").wait_for()
    faults.look(phone.page, "recording offline")
    screenshot(phone.page, "record-offline")
    phone.crash()
    phone.page.locator("[data-key=distance] .number", has_text="0.03").wait_for()
    phone.press("Lap")
    phone.move(2)
    # The clock of the phone is set to another hour.
    phone.page.evaluate(LATER)
    phone.move(2)
    phone.press("Pause")
    phone.page.locator("#status", has_text="Paused").wait_for()
    phone.end()
    phone.page.locator("#saving", has_text="Saved in this browser").wait_for()
    screenshot(phone.page, "record-saved-offline")
    phone.context.set_offline(False)
    phone.is_saved()
    workout = saved(system, faults, 12)
    faults.expect(len(workout["laps"]) == 2, f"laps are {workout['laps']}")
    faults.expect(workout["activeDuration"] < 60, f"it lasted {workout['activeDuration']} s after a step of the clock")
    # Chromium sometimes never closes a context with a worker: it ends with the browser.
    # What the browser logs of lost connections is no fault.
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


def closed(system, browser, faults):
    """The browser closes the database of a page that records, and removes what it had."""
    phone = Phone(system, browser, faults)
    phone.start()
    phone.move(3)
    session = phone.context.new_cdp_session(phone.page)
    session.send("Storage.clearDataForOrigin", {"origin": system.url, "storageTypes": "indexeddb"})
    phone.move(3)
    faults.expect(not phone.page.get_by_text("storage is full").count(), "the page says that the storage is full")
    phone.press("Pause")
    phone.page.locator("#status", has_text="Paused").wait_for()
    phone.end()
    phone.is_saved()
    saved(system, faults, 6)
    close_all(phone.context)


def others(system, browser, faults):
    """Another device ends the workout, or has begun one meanwhile. A discarded one leaves nothing."""
    found = list(faults.found)
    phone = Phone(system, browser, faults, "ben")
    phone.start()
    phone.move(3)
    system.pacebus("ben", "pause")
    phone.page.locator("#status", has_text="Paused").wait_for()
    system.pacebus("ben", "end")
    phone.is_saved()
    # A watch begins while the phone is offline.
    phone.page.goto(f"{system.url}/record")
    phone.page.locator("#record-start").wait_for()
    phone.context.set_offline(True)
    # Chromium keeps connections that it has.
    system.broker.kill()
    system.broker.start()
    system.pacebus("ben", "start", "--countdown", "0")
    phone.start()
    phone.move(3)
    phone.context.set_offline(False)
    phone.page.locator("#notices", has_text="another one is unfinished").wait_for()
    faults.look(phone.page, "another workout")
    phone.page.get_by_role("button", name="Discard the other workout").click()
    phone.page.locator("#notices", has_text="another one is unfinished").wait_for(state="detached")
    phone.page.locator("#recorder-lines", has_text="The server has all").wait_for()
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    # Discarded.
    phone.page.goto(f"{system.url}/record")
    phone.start()
    phone.move(1)
    phone.page.locator("#session-menu summary").click()
    phone.page.locator("#discard").click()
    phone.page.locator("#discard-confirm").click()
    phone.page.locator("#ended", has_text="discarded").wait_for()
    until(phone.page, "() => !localStorage.getItem('pacebus.recording.ben')")
    # Another tab may record while this one shows the discarded workout.
    discarded, phone.page = phone.page, phone.open()
    phone.start()
    close(discarded)
    phone.move(1)
    system.pacebus("ben", "discard")
    phone.page.locator("#ended", has_text="discarded").wait_for()
    until(phone.page, "() => !localStorage.getItem('pacebus.recording.ben')")
    phone.page.goto(f"{system.url}/record")
    # Without the permission, the page says so.
    phone.context.clear_permissions()
    phone.page.reload()
    # Chromium asks or refuses at once.
    until(phone.page, REFUSED)
    close_all(phone.context)
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


SCENARIOS = [records, killed, two_tabs, closed, offline, others]

if __name__ == "__main__":
    with System(*SERVICES) as system, chromium() as browser:
        faults = Faults(system)
        for scenario in SCENARIOS:
            if scenario.__name__.startswith(tuple(os.environ.get("ONLY", "").split(","))):
                scenario(system, browser, faults)
        faults.finish()
