"""The pages of plans with the real session-engine: a plan by the keyboard and by touch, refusals at their fields, two tabs, an
engine that hangs, other devices, JSON, and a plan that becomes a workout.
"""

import json
import pathlib
import re
import time

from browser import DESKTOP, PHONE, Faults, chromium, close_all, is_thorough, press_tab_to, screenshot, until, visit
from system import System
from world import ROOT

EXAMPLES = ROOT / "Services/Pacebus/Plans"


def open_page(system, browser, faults, user, path, device=PHONE):
    context = browser.new_context(**device, reduced_motion="reduce")
    system.log_in(context, user)
    return open_tab(system, context, faults, path)


def open_tab(system, context, faults, path):
    page = context.new_page()
    faults.watch(page)
    page.goto(system.url + path)
    page.locator("main.drawn").wait_for()
    return page


def look(page, faults, name, is_wide=False):
    """On a phone, if wide on a desktop too; all with pictures."""
    before = page.viewport_size
    sizes = [("phone", PHONE, "light"), ("desktop", DESKTOP, "dark")]
    for size, device, theme in sizes if is_wide or is_thorough else sizes[:1]:
        page.set_viewport_size(device["viewport"])
        for each in ["light", "dark"] if is_thorough else [theme]:
            page.emulate_media(color_scheme=each, reduced_motion="reduce")
            screenshot(page, f"{name}-{size}-{each}")
            faults.look(page, f"{name}-{size}-{each}")
    page.set_viewport_size(before)


def field(page, name):
    return page.locator(f"[id='{name}']")


def fill(page, **values):
    """Fields by name, with `_` for `.`."""
    for name, value in values.items():
        field(page, name.replace("_", ".")).fill(value)


def press(page, label):
    page.get_by_role("button", name=label, exact=True).click()


def notice(page, text):
    page.locator("#notice", has_text=text).wait_for()


def save(page):
    press(page, "Save")
    saved(page)


def saved(page):
    answer = page.locator("#notice:not(.pending)")
    answer.wait_for()
    if answer.inner_text().strip() != "Saved.":
        raise SystemExit(f"not saved: {answer.inner_text()}")
    page.locator("#unsaved").wait_for(state="hidden")


def names(page):
    page.locator(".plan-item summary strong").first.wait_for()
    return page.locator(".plan-item summary strong").all_inner_texts()


def new_plan(page, name, exercise="Squat"):
    """Makes a plan of one exercise by way of the list, and returns its address."""
    page.locator("#new").click()
    field(page, "s0i0.name").wait_for()
    fill(page, name=name, s0i0_name=exercise, s0i0x0_repetitions="8", s0i0x0_weight="60", s0i0x0_rest="90")
    save(page)
    return page.url


def by_keyboard(system, browser, faults):
    """A plan of two exercises is made, saved, ordered, saved and loaded again by the keyboard alone."""
    page = open_page(system, browser, faults, "anna", "/plans", DESKTOP)

    def focus_is_on(selector, what):
        faults.expect(page.locator(f"{selector}:focus").count() == 1, f"{what} does not keep the focus")

    def tab_to(label, back=False):
        press_tab_to(page, faults, label, back)

    page.locator("#none", has_text="No plan yet").wait_for()
    look(page, faults, "plans-empty")
    tab_to("New plan")
    page.keyboard.press("Enter")
    page.locator("#plan-form").wait_for()
    for label, text in [
        ("Name", "Morning"),
        ("Exercise", "Squat"),
        ("Set 1, repetitions", "8"),
        ("Set 1, load", "62,5"),
    ]:
        tab_to(label)
        page.keyboard.type(text)
    page.locator("#unsaved").wait_for()
    tab_to("Set 1, rest")
    page.keyboard.type("1:30")
    tab_to("Add a set")
    page.keyboard.press("Enter")
    field(page, "s0i0x1").wait_for()
    faults.expect(field(page, "s0i0x1.weight").input_value() == "62,5", "a new set does not repeat the one before")
    tab_to("Add an exercise")
    page.keyboard.press("Enter")
    page.locator("#s0i1:focus-within").wait_for()
    page.keyboard.type("Plank")
    tab_to("Set 1, time")
    page.keyboard.type("45 s")
    # As the last field of a form does.
    page.keyboard.press("Enter")
    saved(page)
    focus_is_on("[id='s0i1x0.time']", "a field in which Enter saves")
    faults.expect(page.url.endswith("?new") is False, "a saved plan has the address of a new one")
    tab_to("Move Plank up", back=True)
    page.keyboard.press("Enter")
    page.locator("#s0i0 summary strong", has_text="Plank").wait_for()
    page.locator("#unsaved").wait_for()
    tab_to("Save", back=True)
    page.keyboard.press("Enter")
    saved(page)
    focus_is_on("#save", "Save")
    page.reload()
    page.locator("#title", has_text="Morning").wait_for()
    faults.expect(names(page) == ["Plank", "Squat"], f"after a reload the exercises are {names(page)}")
    weight, rest = (field(page, f"s0i1x1.{name}").input_value() for name in ("weight", "rest"))
    faults.expect((weight, rest) == ("62.5 kg", "1:30"), f"after a reload the second set has {weight} and {rest}")
    faults.expect("1 section · 2 exercises · 3 sets" in page.locator("#summary").inner_text(), "the summary is wrong")
    page.goto(f"{system.url}/plans")
    page.locator("#plans", has_text="Morning").wait_for()
    close_all(page.context)


def by_touch(system, browser, faults):
    """Sections, clocks, alternatives and sets are added, moved and removed; leaving with changes asks."""
    page = open_page(system, browser, faults, "ben", "/")
    page.locator("#menu summary").click()
    page.get_by_role("link", name="Plans").click()
    url = new_plan(page, "Circuit", "Row")
    fill(page, focus="conditioning, strength", s0_name="Main")
    field(page, "s0.timer.type").select_option("interval")
    fill(page, s0_timer_rounds="4", s0_timer_work="40 s", s0_timer_rest="0:20")
    press(page, "Add a section")
    page.locator("#s1:focus-within").wait_for()
    fill(page, s1_name="Floor")
    page.locator("#s1i0 summary").first.click()
    fill(page, s1i0_name="Bench", s1i0x0_repetitions="5", s1i0x0_weight="135 lb")
    field(page, "s1i0.category").select_option("benchPress")
    for repetitions in ["6", "7"]:
        page.locator("#s1i0").get_by_role("button", name="Add a set").first.click()
        number = int(repetitions) - 5
        field(page, f"s1i0x{number}.repetitions").fill(repetitions)
    page.locator("#s1i0x2 .menu summary").click()
    page.get_by_label("Move set 3 up").click()
    look(page, faults, "plan-set-menu")
    # The menu moves with its set.
    page.get_by_label("Remove set 2").click()
    sets = [field(page, f"s1i0x{number}.repetitions").input_value() for number in range(2)]
    faults.expect(sets == ["5", "6"], f"after moving and removing the sets are {sets}")
    page.locator("#s1i0").get_by_role("button", name="Add an alternative").click()
    fill(page, s1i0a0_name="Push-up")
    press(page, "Move Bench up")
    page.locator("#s0i1 summary strong", has_text="Bench").wait_for()
    press(page, "Move Row down")
    press(page, "Move Row down")
    page.locator("#s1i0 summary strong", has_text="Row").wait_for()
    press(page, "Move section 2 up")
    page.locator("#s0").get_by_role("button", name="Add an exercise").click()
    fill(page, s0i1_name="Mistake")
    press(page, "Remove Exercise 2")
    # A section with intervals has one set a round.
    page.locator("#s1i0 summary").first.click()
    page.locator("#s1i0x1 .menu summary").click()
    page.get_by_label("Remove set 2").click()
    save(page)
    page.reload()
    faults.expect(names(page) == ["Row", "Bench"], f"the exercises are {names(page)}")
    shown = [field(page, f"s{number}.name").input_value() for number in (0, 1)]
    faults.expect(shown == ["Floor", "Main"], f"the sections are {shown}")
    texts = [field(page, f"s1.timer.{name}").input_value() for name in ("rounds", "work", "rest")]
    faults.expect(texts == ["4", "0:40", "0:20"], f"the clock is {texts}")
    faults.expect(field(page, "s1i0a0.name").input_value() == "Push-up", "the alternative is lost")
    look(page, faults, "plan-sections", True)

    # Leaving asks, and loses nothing unless it is wanted.
    fill(page, name="Changed")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.locator(".crumb").click()
    page.locator("#unsaved").wait_for()
    faults.expect(asked == ["beforeunload"], f"leaving asked {asked}")
    faults.expect(field(page, "name").input_value() == "Changed", "leaving lost the input")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(".crumb").click()
    page.locator("#plans", has_text="Circuit").wait_for()
    look(page, faults, "plans", True)
    listed = system.pacebus("ben", "plans")
    faults.expect("Circuit" in listed and "Row, Bench" in listed, f"another device lists {listed}")

    # Units that come later than the form count in what is typed after.
    page.goto(url.split("?")[0])
    page.locator("#menu summary").click()
    page.locator("[data-choice=units] label", has_text="Imperial").click()
    page.keyboard.press("Escape")
    page.locator(".plan-top .hint", has_text="counts in lb").wait_for()
    close_all(page.context)


def refusals(system, browser, faults):
    """What cannot be saved is marked at its field and named in words, by the page and by the engine; the input stays."""
    page = open_page(system, browser, faults, "carla", "/plans")
    new_plan(page, "Refused")
    fill(page, s0i0x0_weight="heavy", s0i0_name="")
    press(page, "Save")
    notice(page, "Not saved: 2 things to correct")
    faults.expect(page.locator("#notice:focus").count() == 1, "the list of errors has no focus")
    link = page.locator(
        ".problem", has_text="Section 1, exercise 1, set 1, load: 'heavy' is not a load such as 62.5 kg"
    )
    link.click()
    field(page, "s0i0x0.weight").and_(page.locator(":focus")).wait_for()
    look(page, faults, "plan-errors", True)

    # By the engine: a number out of range, a name with too many bytes, a clock without its time.
    for change, where, text in [
        (
            {"s0i0_name": "Squat", "s0i0x0_weight": "5000"},
            "s0i0x0.weight",
            "Section 1, exercise 1, set 1, load: 0 to 1000",
        ),
        ({"s0i0x0_weight": "60", "name": "ä" * 60}, "name", "name: at most 100 bytes"),
        ({"name": "Refused", "s0_timer_work": ""}, "s0.timer.work", "Section 1, work: missing for countdown"),
    ]:
        if "s0_timer_work" in change:
            field(page, "s0.timer.type").select_option("countdown")
        fill(page, **change)
        press(page, "Save")
        notice(page, "Not saved: one thing to correct")
        page.locator(".problem", has_text=text).wait_for()
        faults.expect(field(page, where).get_attribute("aria-invalid") == "true", f"{where} is not marked")
        faults.expect(field(page, f"{where}-error").is_visible(), f"{where} has no words")
        faults.expect(page.locator("#unsaved").is_visible(), f"refused at {where}, the plan counts as saved")
    fill(page, s0_timer_work="10 min")
    save(page)
    faults.expect(page.locator("[aria-invalid]").count() == 0, "a corrected field stays marked")
    close_all(page.context)


def engine_hangs(system, browser, faults):
    """A save waits for an engine that hangs, over a reload, with its text; so does one that is then refused."""
    engine = system.running["session-engine"]
    page = open_page(system, browser, faults, "carla", "/plans")
    page.locator(".plan-cards a").first.click()
    field(page, "name").wait_for()
    page.on("dialog", lambda dialog: dialog.accept())
    for text, weight in [("Kept", "65"), ("Kept twice", "5000")]:
        engine.freeze()
        fill(page, name=text, s0i0x0_weight=weight)
        press(page, "Save")
        page.locator("#notice.pending", has_text="Saving…").wait_for()
        page.reload()
        page.locator("#notice.pending", has_text="Saving…").wait_for()
        shown = [field(page, name).input_value() for name in ("name", "s0i0x0.weight")]
        faults.expect(shown == [text, f"{weight} kg"], f"after a reload a save without an answer shows {shown}")
        engine.thaw()
        if text == "Kept":
            saved(page)
    page.locator(".problem", has_text="load: 0 to 1000").wait_for()
    faults.expect(field(page, "name").input_value() == "Kept twice", "a refusal loses what a page before it sent")
    close_all(page.context)


def two_tabs(system, browser, faults):
    """The second save of the same version asks, and replaces nothing unseen."""
    first = open_page(system, browser, faults, "dora", "/plans")
    new_plan(first, "Legs")
    path = first.url.removeprefix(system.url)
    second = open_tab(system, first.context, faults, path)
    fill(second, name="Legs, second tab")
    second.locator("#unsaved").wait_for()
    # Chromium draws a page behind another one once a second, and Playwright waits for its frames.
    first.bring_to_front()
    fill(first, name="Legs, first tab", s0i0x0_repetitions="9")
    save(first)
    second.locator("#summary", has_text="Saved").wait_for()
    second.locator("#title", has_text="Legs, first tab").wait_for()
    faults.expect(second.locator("#unsaved").is_visible(), "a save of another tab counts as one of this tab's changes")
    faults.expect(not second.locator("#notice.done").is_visible(), "a tab says that another one's save is its own")
    second.bring_to_front()
    press(second, "Save")
    notice(second, "This plan was saved elsewhere")
    notice(second, "There it is “Legs, first tab”")
    faults.expect(field(second, "name").input_value() == "Legs, second tab", "the conflict lost the input")
    look(second, faults, "plan-conflict")
    press(second, "Save mine over it")
    saved(second)
    # An unchanged tab follows.
    first.locator("#title", has_text="Legs, second tab").wait_for()
    faults.expect(field(first, "name").input_value() == "Legs, second tab", "an unchanged tab shows an old version")
    # Its next save is of that version; so is the next one of the tab that has just saved.
    for page, name in [(first, "Third"), (second, "Fourth")]:
        page.bring_to_front()
        fill(page, name=name)
        save(page)
    first.locator("#title", has_text="Fourth").wait_for()

    # Deleted in one tab.
    fill(second, name="Fifth")
    first.bring_to_front()
    press(first, "Delete this plan")
    notice(first, "Delete Fourth?")
    look(first, faults, "plan-delete")
    press(first, "Keep it")
    first.locator("#notice").wait_for(state="hidden")
    press(first, "Delete this plan")
    press(first, "Delete")
    first.wait_for_url("**/plans?deleted")
    first.locator("#deleted").wait_for()
    first.locator("#none").wait_for()
    # In the background, browsers may let a page wait.
    second.bring_to_front()
    notice(second, "This plan was deleted elsewhere")
    faults.expect(field(second, "name").input_value() == "Fifth", "a deletion elsewhere loses the input")
    press(second, "Save mine as a new plan")
    saved(second)
    first.locator("#plans", has_text="Fifth").wait_for()
    close_all(first.context)


def other_device(system, browser, faults):
    """A plan that another device saves, changes and deletes appears, changes and goes."""
    page = open_page(system, browser, faults, "emil", "/plans")
    page.locator("#none").wait_for()
    file = EXAMPLES / "strength.json"
    plan = re.search(r"[0-9a-f-]{36}", system.pacebus("emil", "save-plan", file)).group()
    page.locator("#plans a", has_text="Full Body Strength").click()
    page.locator("#title", has_text="Full Body Strength").wait_for()
    page.evaluate("document.querySelectorAll('.plan-item > details').forEach(e => e.open = true)")
    look(page, faults, "plan-open", True)
    changed = system.folder / "changed.json"
    changed.write_text(json.dumps({**json.loads(file.read_text()), "name": "Changed elsewhere"}))
    system.pacebus("emil", "save-plan", changed, "--plan-id", plan)
    page.locator("#title", has_text="Changed elsewhere").wait_for()
    faults.expect(field(page, "name").input_value() == "Changed elsewhere", "an unchanged form shows an old version")
    system.pacebus("emil", "delete-plan", plan)
    notice(page, "This plan was deleted elsewhere")
    page.reload()
    page.locator("#missing", has_text="This plan does not exist").wait_for()
    look(page, faults, "plan-missing")
    close_all(page.context)


def as_json(system, browser, faults):
    """Every example is imported, and downloaded as it was; what is no plan is named."""
    page = open_page(system, browser, faults, "emil", "/plans")
    for file in sorted(EXAMPLES.glob("*.json")):
        page.locator("#import").click()
        # Before the page's module listens, a choice would be lost.
        page.locator("main.drawn #json-file").wait_for(state="attached")
        page.locator("#json-file").set_input_files(file)
        until(page, "() => document.querySelector('#json').value !== ''")
        press(page, "Replace the form by this")
        notice(page, "Imported, not saved yet.")
        save(page)
        if not page.locator("#json-box[open]").count():
            page.locator("#json-box summary").click()
        with page.expect_download() as download:
            press(page, "Download the saved plan")
        written = json.loads(pathlib.Path(download.value.path()).read_text())
        faults.expect(written == json.loads(file.read_text()), f"{file.name}: downloaded {written}")
        page.goto(f"{system.url}/plans")
        page.locator("#plans li").first.wait_for()
    page.locator("#import").click()
    for text, words in [
        ("{", "this is not JSON"),
        ('{"sections": [{"items": [{"name": "a", "reps": 5}]}]}', "sections[0].items[0].reps: unknown field"),
        ('{"sections": [{"items": [{"sets": []}]}]}', "sections[0].items[0].name: missing"),
        ('{"sections": [{"items": [{"name": 5}]}]}', "sections[0].items[0].name: expected a text"),
    ]:
        page.locator("#json").fill(text)
        press(page, "Replace the form by this")
        page.locator("#json-error", has_text=words).wait_for()
    look(page, faults, "plan-json")
    close_all(page.context)


def start(system, browser, faults):
    """A plan becomes a workout on Live, set by set; another start asks before it discards; Home offers the plan."""
    page = open_page(system, browser, faults, "anna", "/plans")
    page.locator(".plan-cards a").first.click()
    url = page.url
    page.locator("#choices").click()
    page.locator("#start-countdown").select_option("0")
    # Of the version that is saved.
    fill(page, name="Unsaved")
    press(page, "Start")
    notice(page, "There are unsaved changes.")
    look(page, faults, "plan-start")
    page.on("dialog", lambda dialog: faults.found.append("a start from the page asks whether to leave"))
    press(page, "Start the saved version")
    page.wait_for_url("**/live/anna/*")
    live = page.url

    def shows(exercise, progress, set_="", prescription=""):
        for key, text in [
            ("exercise", exercise),
            ("progress", progress),
            ("set", set_),
            ("prescription", prescription),
        ]:
            page.locator(f"[data-plan='{key}']").filter(has_text=re.compile(f"^{re.escape(text)}$")).wait_for(
                state="visible" if text else "attached"
            )

    shows("Plank", "0/2 exercises", "", "00:45")
    press(page, "Complete set")
    shows("Squat", "1/2 exercises", "Set 1 of 2", "8 × 62.5 kg")
    press(page, "More repetitions")
    press(page, "Complete set")
    shows("Squat", "1/2 exercises", "Set 2 of 2", "8 × 62.5 kg")
    press(page, "Undo Squat, 9 × 62.5 kg")
    shows("Squat", "1/2 exercises", "Set 1 of 2", "8 × 62.5 kg")
    press(page, "Show all exercises")
    page.locator("#plan-items li", has_text="Squat").and_(page.locator("[aria-current]")).wait_for()

    page.goto(url)
    page.locator("#choices").click()
    page.locator("#start-countdown").select_option("0")
    press(page, "Start")
    notice(page, "This will discard your current workout. Continue?")
    page.get_by_role("link", name="Resume it").click()
    page.wait_for_url(live)
    shows("Squat", "1/2 exercises", "Set 1 of 2", "8 × 62.5 kg")
    page.goto(url)
    press(page, "Start")
    press(page, "Discard it and start")
    page.wait_for_url(lambda address: "/live/" in address and address != live)
    page.locator("#countdown").wait_for(state="hidden")
    for progress in ["0/2 exercises", "1/2 exercises", "1/2 exercises"]:
        page.locator("[data-plan='progress']", has_text=progress).wait_for()
        press(page, "Complete set")
        page.locator("#press", has_text="…").wait_for(state="hidden")
    page.locator("[data-plan='progress']", has_text="2/2 exercises").wait_for()
    page.locator("#finish").wait_for()

    page.goto(system.url)
    page.locator("#start-new").click()
    page.get_by_label("Plan", exact=True).select_option(label="Morning")
    look(page, faults, "home-start-plan")
    page.locator("#start-confirm").click()
    page.locator("[data-plan='exercise']", has_text="Plank").wait_for()
    close_all(page.context)


def watchers(system, browser, faults):
    """Those who only watch have no plans."""
    page = open_page(system, browser, faults, "coach", "/plans")
    for path in ["/plans", "/plans/0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07"]:
        page.goto(system.url + path)
        page.locator(".notice", has_text="Plans are for people who train.").wait_for()
        page.locator("main.drawn").wait_for()
        look(page, faults, "plans-watcher")
    close_all(page.context)


def loading(system, browser, faults):
    """Over a slow network nothing moves."""
    plan = re.search(r"[0-9a-f-]{36}", system.pacebus("emil", "plans")).group()
    for name, path, shown in [("plans", "/plans", "#plans li"), ("plan", f"/plans/{plan}", "#s0i0")]:
        visit(
            system, browser, faults, name, path, "emil", [], lambda page: page.locator(shown).first.wait_for(), 60_000
        )


with System("session-engine") as system, chromium() as browser:
    faults = Faults(system)
    for scenario in [
        by_keyboard,
        by_touch,
        refusals,
        engine_hangs,
        two_tabs,
        other_device,
        as_json,
        start,
        watchers,
        loading,
    ]:
        begun = time.monotonic()
        scenario(system, browser, faults)
        print(f"{scenario.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
faults.finish()
