"""Files of workouts: downloads on a workout's page, and *Export everything* on that of the account."""

import base64
import io
import json
import random
import threading
import time
import zipfile

import histories
import workouts
from browser import DESKTOP, PHONE, close_all, open_page, screenshot, until
from world import run, wait

PART = 128 * 1024
WINDOW = 16


class Exporter:
    """Answers `file` as the exporter does; tests change its files, and what it does with a request."""

    def __init__(self, world):
        self.world, self.files, self.requests, self.outcomes = world, {}, [], {}
        self.before = lambda session, press: None
        self.revision = 1
        world.answers["file"] = self.answer

    def put(self, session, size, formats=("fit", "json"), name="morning-run"):
        generator = random.Random(session)
        for format in formats:
            data = generator.randbytes(size) if format == "fit" else json.dumps({"session": session}).encode()
            self.files[session, format] = f"2026-11-21T061503Z-{name}-{session}.{format}", data

    def answer(self, topic, press):
        session, format = topic.split("/")[4], press["format"]
        self.requests.append((session, format, press["from"]))
        outcome = self.before(session, press) or self.outcomes.get((session, format))
        if outcome == "silence":
            return None
        if outcome:
            return {"error": outcome}
        if (session, format) not in self.files:
            return {"error": {"code": "session_not_found", "message": "the exporter has no such workout"}}
        name, data = self.files[session, format]
        count = -(-len(data) // PART)
        if press["from"] >= count:
            return {"error": {"code": "invalid_command", "message": f"from: the file has {count} parts, from 0"}}
        for n in range(press["from"], min(press["from"] + WINDOW, count)):
            part = {"n": n, "of": count, "name": name, "workout": self.revision}
            part["x"] = base64.b64encode(data[n * PART : (n + 1) * PART]).decode()
            self.world.reply(topic, press, {"file": part})
        return None


def open_workout(world, browser, faults, workout, user="anna", device=DESKTOP):
    page = open_page(world, browser, faults, workout.path, user, device)
    page.locator("main.drawn").wait_for()
    return page


def received(download):
    with open(download.path(), "rb") as file:
        return file.read()


def prepare(world, size=100_000, formats=("fit", "tcx", "gpx", "csv", "json")):
    workout = workouts.treadmill()
    exporter = Exporter(world)
    exporter.put(workout.session, size, formats)
    folder = workouts.export(workout, "folder", "done")
    workouts.answer_chunks(world, workout)
    world.publish([*workout.messages(), folder])
    return workout, exporter


def button(page, format):
    return page.get_by_role("button", name=f"{format}: download")


def row(page, text):
    return page.locator("#files li", has_text=text)


def downloads(world, browser, faults):
    """Each format is a download under the name that the exporter gives, of several windows, over a broken connection."""
    workout, exporter = prepare(world, PART * 37 + 5)
    page = open_workout(world, browser, faults, workout, device=PHONE)
    for format in ("JSON", "CSV"):
        with page.expect_download() as started:
            button(page, format).click()
        name, data = exporter.files[workout.session, format.lower()]
        faults.expect(started.value.suggested_filename == name, f"{format}: {started.value.suggested_filename}")
        faults.expect(received(started.value) == data, f"{format} differs")
    row(page, "kB downloaded").first.wait_for()
    # The connection breaks after the first window, and the workout changes after the second.
    dropped = threading.Event()

    def before(_, press):
        if press["from"] == WINDOW and not dropped.is_set():
            dropped.set()
            world.broker.kill()
            world.broker.start()
            wait(lambda: world.client.is_connected(), "the publisher is connected again")
            return "silence"
        if press["from"] == 2 * WINDOW and exporter.revision == 1:
            exporter.revision = 2
            exporter.put(workout.session, PART * 20, ["fit"])
        return None

    exporter.before = before
    exporter.requests.clear()
    with page.expect_download() as started:
        button(page, "FIT").focus()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="FIT: cancel").wait_for()
        screenshot(page, "files-running-phone")
        faults.look(page, "files-running")
        faults.expect(page.evaluate("document.activeElement.textContent") == "Cancel", "the focus is elsewhere")
    data = exporter.files[workout.session, "fit"][1]
    faults.expect(received(started.value) == data, "FIT differs after a changed revision")
    starts = [each[2] for each in exporter.requests]
    faults.expect(starts[0] == 0 and starts.count(32) == 1 and starts[-2:] == [0, 16], f"asked for {starts}")
    row(page, "2.6 MB downloaded").wait_for()
    faults.expect(button(page, "FIT").evaluate("e => e === document.activeElement"), "the focus has left FIT")
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme)
        page.locator("#exports-part").scroll_into_view_if_needed()
        screenshot(page, f"files-phone-{theme}")
        faults.look(page, f"files-phone-{theme}")
    close_all(page.context)


def refusals(world, browser, faults):
    """Refusals and silence have words; what is canceled ends. Viewers have no files."""
    workout, exporter = prepare(world)
    session = workout.session
    page = open_workout(world, browser, faults, workout)
    exporter.outcomes[session, "fit"] = {"code": "file_failed", "message": "no room for the file; try again later"}
    button(page, "FIT").click()
    page.locator("#files .refused", has_text="No room for the file; try again later.").wait_for()
    page.locator("#announce", has_text="FIT: No room for the file").wait_for(state="attached")
    del exporter.files[session, "gpx"]
    button(page, "GPX").click()
    row(page, "The exporter does not have this workout yet. Try again in a minute.").wait_for()
    exporter.outcomes[session, "tcx"] = "silence"
    button(page, "TCX").click()
    row(page, "No answer from the exporter yet").wait_for()
    page.locator("#exports-part").scroll_into_view_if_needed()
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme)
        screenshot(page, f"files-desktop-{theme}")
        faults.look(page, f"files-refused-{theme}")
    page.get_by_role("button", name="TCX: cancel").click()
    button(page, "TCX").wait_for()
    count = len(exporter.requests)
    exporter.outcomes.clear()
    with page.expect_download():
        button(page, "FIT").click()
    faults.expect(len(exporter.requests) == count + 1, "a canceled request was sent again")
    close_all(page.context)
    page = open_workout(world, browser, faults, workout, user="coach")
    faults.expect(page.locator("#files").count() == 0, "a viewer has files")
    close_all(page.context)


def open_account(world, browser, faults, device=DESKTOP):
    page = open_page(world, browser, faults, "/account", "anna", device)
    page.locator("main.drawn").wait_for()
    return page


def export_button(page, name):
    return page.locator("#export-part").get_by_role("button", name=name, exact=True)


def says(page, text):
    page.locator("#export-text", has_text=text).wait_for()


def read_zip(page):
    with page.expect_download() as started:
        export_button(page, "Download").click()
    file = zipfile.ZipFile(io.BytesIO(received(started.value)))
    return started.value.suggested_filename, {each: file.read(each) for each in file.namelist()}


def history(world, exporter, count, size):
    engine = histories.Engine(histories.years(count, time.time()))
    world.answers["workouts"] = engine.answer
    for session in engine.workouts:
        exporter.put(session, size, name="run")
    return engine


def everything(world, browser, faults):
    """A zip of 30 workouts, over a pause, a reload, a deleted workout and one that fails, which is tried again."""
    exporter = Exporter(world)
    engine = history(world, exporter, 30, 50_000)
    sessions = [each["session"] for each in sorted(engine.workouts.values(), key=lambda each: -each["startedAt"])]
    twin = exporter.files[sessions[4], "fit"][0]
    exporter.files[sessions[5], "fit"] = twin.upper().replace(".FIT", ".fit"), exporter.files[sessions[5], "fit"][1]
    profile = {"revision": 3, "units": "metric", "weight": 62.5}
    plans = {"revision": 4, "plans": [{"plan": "p", "savedAt": 5, "definition": {"name": "Tempo"}}]}
    world.publish([("pacebus/v1/u/anna/profile", profile), ("pacebus/v1/u/anna/plans", plans)])
    runs = [{"run": f"{number:032x}", "createdAt": 1000 - number, "status": "finished"} for number in range(70)]

    def page_of_runs(_, press):
        rest = [each for each in runs if each["createdAt"] < press.get("before", 2000)]
        return {"runs": rest[: press["limit"]]}

    world.answers["runs"] = page_of_runs
    failed = sessions[7]
    exporter.outcomes[failed, "json"] = {"code": "file_failed", "message": "its chunks cannot be read; try again later"}
    page = open_account(world, browser, faults)
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme)
        page.locator("#export-part").scroll_into_view_if_needed()
        screenshot(page, f"export-none-{theme}")
    gate, held = threading.Event(), sessions[10]

    def before(session, press):
        if session == held and press["format"] == "json" and not gate.is_set():
            return "silence"
        return None

    exporter.before = before
    export_button(page, "Export everything").click()
    says(page, "Exporting: 10 of 30 workouts")
    page.locator("#export-now", has_text="JSON").wait_for()
    screenshot(page, "export-running")
    faults.look(page, "export-running")
    other = page.context.new_page()
    faults.watch(other)
    other.goto(world.url + "/account")
    says(other, "Another tab exports")
    other.close()
    export_button(page, "Pause").click()
    says(page, "Paused: 10 of 30 workouts")
    faults.look(page, "export-paused")
    count = len(exporter.requests)
    page.reload()
    page.locator("main.drawn").wait_for()
    says(page, "Paused: 10 of 30 workouts")
    faults.expect(len(exporter.requests) == count, "a paused export continues by itself")
    export_button(page, "Continue").click()
    says(page, "Exporting: 10 of 30 workouts")
    # A workout that is not exported yet is deleted, and one that is.
    for session in (sessions[2], sessions[25]):
        engine.delete(session)
        for format in ("fit", "json"):
            del exporter.files[session, format]
    gate.set()
    exporter.requests.clear()
    page.reload()
    says(page, "Exported on")
    asked = [(session, format) for session, format, _ in exporter.requests]
    faults.expect(
        (sessions[9], "fit") not in asked and (sessions[10], "fit") not in asked, "what is done is asked again"
    )
    faults.expect(page.locator("#export-failure-list li").count() == 1, "one file failed")
    page.locator("#export-failure-list", has_text="JSON").get_by_text(
        "Its chunks cannot be read; try again later."
    ).wait_for()
    page.locator("#export-part").scroll_into_view_if_needed()
    screenshot(page, "export-done")
    faults.look(page, "export-done")
    name, files = read_zip(page)
    faults.expect(name.startswith("pacebus-anna-20") and name.endswith(".zip"), f"the file is called {name}")
    kept = [each for each in sessions if each not in (sessions[2], sessions[25])]
    faults.expect(len(files) == 2 * len(kept) - 1 + 3, f"{len(files)} files: {sorted(files)}")
    exporter.outcomes.clear()
    exporter.requests.clear()
    export_button(page, "Try again").click()
    until(
        page,
        "() => document.querySelector('#export-failures').hidden && /Exported/.test(document.querySelector('#export-text').textContent)",
    )
    faults.expect(exporter.requests == [(failed, "json", 0)], f"tried again {exporter.requests}")
    name, files = read_zip(page)
    wanted = {}
    for session in kept:
        for format in ("fit", "json"):
            name, data = exporter.files[session, format]
            wanted[name if name.lower() not in [each.lower() for each in wanted] else f"{name[:-4]} (2).fit"] = data
    for each in wanted:
        faults.expect(files.get(each) == wanted[each], f"{each} differs")
    faults.expect(len(files) == len(wanted) + 3, f"{sorted(set(files) - set(wanted))}")
    faults.expect(json.loads(files["profile.json"]) == profile, f"the profile is {files['profile.json']}")
    faults.expect(json.loads(files["plans.json"]) == plans, f"the plans are {files['plans.json']}")
    faults.expect(json.loads(files["runs.json"]) == {"runs": runs}, "the runs differ")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#export-part").scroll_into_view_if_needed()
    screenshot(page, "export-done-phone")
    close_all(page.context)


def full_disk(world, browser, faults):
    """Without room it pauses and says so; with room it continues behind the last whole entry."""
    exporter = Exporter(world)
    history(world, exporter, 10, 300_000)
    page = open_account(world, browser, faults)
    tools = page.context.new_cdp_session(page)
    quota = {"origin": world.url, "quotaSize": 1_500_000}
    tools.send("Storage.overrideQuotaForOrigin", quota)
    export_button(page, "Export everything").click()
    says(page, "This browser has no room left for the file.")
    faults.look(page, "export-full")
    screenshot(page, "export-full")
    tools.send("Storage.overrideQuotaForOrigin", {"origin": world.url})
    asked = len(exporter.requests)
    export_button(page, "Continue").click()
    says(page, "Exported on")
    faults.expect(
        0 < 20 - asked + 1 == len(exporter.requests) - asked, f"{asked}, then {len(exporter.requests)} requests"
    )
    _, files = read_zip(page)
    for name, data in exporter.files.values():
        faults.expect(files.get(name) == data, f"{name} differs after a full disk")
    close_all(page.context)


FOLDERS = "async () => { const names = []; for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name); return names.join(); }"


def removal(world, browser, faults):
    """Canceling removes the file, and so does logging out in another tab. A browser without a file system says so."""
    exporter = Exporter(world)
    history(world, exporter, 3, 1000)
    exporter.before = lambda session, press: "silence" if press["format"] == "json" else None
    context = world.context(browser, "anna", **PHONE)
    page = context.new_page()
    # Its login ends.
    faults.watch(page, 401)
    page.goto(world.url + "/account")
    export_button(page, "Export everything").click()
    says(page, "Exporting: 0 of 3 workouts")
    page.locator("#export-now", has_text="No answer from the exporter yet").wait_for()
    faults.look(page, "export-silent-phone")
    screenshot(page, "export-silent-phone")
    faults.expect("pacebus.export.anna" in page.evaluate(FOLDERS), "no file is written")
    export_button(page, "Cancel and remove the file").click()
    export_button(page, "Export everything").wait_for()
    faults.expect(page.evaluate(FOLDERS) == "", "the file stays after cancel")
    export_button(page, "Export everything").click()
    page.locator("#export-now", has_text="JSON").wait_for()
    other = page.context.new_page()
    other.goto(world.url + "/plans")
    other.locator("main.drawn").wait_for()
    other.locator("#menu summary").click()
    other.locator("#log-out").click()
    other.wait_for_url("**/login*")
    faults.expect(other.evaluate(FOLDERS) == "", "the file stays after logging out")
    faults.expect(other.evaluate("Object.keys(localStorage).filter(k => /export/.test(k)).join()") == "", "a key stays")
    other.close()
    close_all(page.context)
    page = open_page(world, browser, faults, None, "anna", PHONE)
    page.add_init_script("delete StorageManager.prototype.getDirectory;")
    page.goto(world.url + "/account")
    says(page, "This browser cannot write a large file bit by bit")
    faults.expect(page.locator("#export-buttons button").count() == 0, "an export that cannot work is offered")
    faults.look(page, "export-impossible")
    close_all(page.context)


if __name__ == "__main__":
    run([downloads, refusals, everything, full_disk, removal])
