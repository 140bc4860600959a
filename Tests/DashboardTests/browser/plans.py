"""Plans in Chromium against a running dashboard and session-engine, as anna: plans.py URL FOLDER STATE [away].

FOLDER has the example plans, and STATE is a file for the login, which the second call needs: `away` shows the pages while
the broker is down.

Makes a plan by the keyboard, with and without JavaScript, orders, saves, reloads and starts it; names unsaved changes; two tabs.
With SCREENSHOTS it leaves pictures in that folder.
"""

import json
import os
import pathlib
import sys

from browser import DESKTOP, PHONE, SMALL, Faults, chromium, screenshot, until


class Site:
    url = sys.argv[1]


faults = Faults(Site)
examples = pathlib.Path(sys.argv[2])
LIMIT = 64 * 1024
sizes = {"phone": PHONE, "desktop": DESKTOP, "small": SMALL}
# Those with a layout of their own on each screen.
WIDE = ["plans", "plan-open"]


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def tab_to(page, text, back=False):
    """Presses Tab until the focused element has this text or label; it must be visible and have an outline."""
    for _ in range(90):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        found = page.evaluate("""() => {
            const e = document.activeElement;
            const label = e.getAttribute('aria-label') || (e.labels && e.labels[0] && e.labels[0].innerText) || e.innerText || '';
            return { text: label.trim(), outline: getComputedStyle(e).outlineStyle, width: e.getBoundingClientRect().width };
        }""") or {"text": ""}
        if found["text"] == text:
            expect(found["outline"] != "none" and found["width"] > 0, f"{text}: the focus is not visible")
            return
    faults.found.append(f"the Tab key does not reach {text}")


def log_in(context):
    page = context.new_page()
    faults.watch(page)
    page.goto(Site.url + "/login")
    page.get_by_label("Name").fill("anna")
    page.get_by_label("Password").fill("any")
    page.keyboard.press("Enter")
    page.wait_for_url(Site.url + "/")
    return page


def pictures(page, name, anchor=None):
    """Each size and theme of the page as it stands."""
    for size, device in (sizes if "SCREENSHOTS" in os.environ or name in WIDE else {"phone": PHONE}).items():
        page.set_viewport_size(device["viewport"])
        if anchor:
            page.locator(anchor).evaluate("e => e.scrollIntoView()")
        for theme in ["light", "dark"]:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            screenshot(page, f"{name}-{size}-{theme}")
            faults.look(page, f"{name}-{size}-{theme}")
    page.set_viewport_size(DESKTOP["viewport"])
    page.emulate_media(color_scheme="light")


def weight(response, name):
    size = len(response.body())
    expect(size <= LIMIT, f"{name}: {size} bytes, more than {LIMIT}")


def names(page):
    return page.locator(".plan-item summary strong").all_inner_texts()


def make(page, name, is_scripted):
    """A plan with two exercises, the second moved before the first, by the keyboard alone."""
    page.goto(Site.url + "/plans")
    if is_scripted:
        page.locator("html.ready").wait_for(state="attached")
    tab_to(page, "New plan")
    page.keyboard.press("Enter")
    page.locator("#plan-form").wait_for()
    if is_scripted:
        page.locator("html.ready").wait_for(state="attached")
    tab_to(page, "Name")
    page.keyboard.type(name)
    tab_to(page, "Exercise")
    page.keyboard.type("Squat")
    tab_to(page, "Set 1, repetitions")
    page.keyboard.type("8")
    page.keyboard.press("Tab")
    page.keyboard.type("62,5")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("1:30")
    tab_to(page, "Add a set")
    page.keyboard.press("Enter")
    page.locator("#s0i0x1").wait_for()
    expect(page.locator("#s0i0x1\\.weight").input_value() == "62,5", "a new set does not repeat the one before")
    tab_to(page, "Add an exercise")
    page.keyboard.press("Enter")
    page.locator("#s0i1").wait_for()
    page.locator("#s0i1:focus-within").wait_for()
    tab_to(page, "Exercise") if page.evaluate("document.activeElement.id") != "s0i1.name" else None
    page.keyboard.type("Plank")
    tab_to(page, "Set 1, time")
    page.keyboard.type("45 s")
    tab_to(page, "Save", back=True)
    page.keyboard.press("Enter")
    page.wait_for_url("**/plans/*?saved")
    page.locator("#notice.done").wait_for()
    expect(names(page) == ["Squat", "Plank"], f"saved {names(page)}")
    if is_scripted:
        page.locator("html.ready").wait_for(state="attached")
    tab_to(page, "Move Plank up")
    page.keyboard.press("Enter")
    page.locator("#s0i0 summary strong", has_text="Plank").wait_for()
    page.locator("#s0i0:focus-within").wait_for()
    expect(page.locator("#unsaved").is_visible(), "a moved exercise does not count as a change")
    tab_to(page, "Save", back=True)
    page.keyboard.press("Enter")
    page.locator("#notice.done").wait_for()
    page.goto(page.url.split("?")[0])
    expect(names(page) == ["Plank", "Squat"], f"reloaded {names(page)}")
    expect(page.locator("#s0i1x1\\.weight").input_value() == "62.5 kg", "the second set is not saved")
    return page.url


def start(page):
    """Starts the plan that is shown, in place of another workout if there is one."""
    tab_to(page, "Start")
    page.keyboard.press("Enter")
    page.locator("main.live, #notice").first.wait_for()
    if page.locator("#notice").count():
        expect(
            "discard your current workout" in page.locator("#notice").inner_text(), page.locator("#notice").inner_text()
        )
        page.get_by_role("button", name="Discard it and start").click()
    page.wait_for_url("**/live/anna/*")


def away(browser):
    context = browser.new_context(**DESKTOP, storage_state=sys.argv[3])
    page = context.new_page()
    faults.watch(page)
    page.goto(Site.url + "/plans")
    page.locator(".notice.warning", has_text="There is no connection to the broker").wait_for()
    expect(page.locator(".empty-plans").count() == 0, "plans that cannot be read look like none")
    pictures(page, "plans-away")
    page.get_by_role("link", name="New plan").click()
    page.locator(".notice.warning", has_text="There is no connection to the broker").wait_for()
    context.close()


with chromium() as browser:
    if sys.argv[4:] == ["away"]:
        away(browser)
        faults.found = [fault for fault in faults.found if "status of 503" not in fault]
        faults.finish()
    context = browser.new_context(**DESKTOP)
    page = log_in(context)
    context.storage_state(path=sys.argv[3])
    page.goto(Site.url + "/plans")
    page.locator(".empty-plans").wait_for()
    pictures(page, "plans-empty")

    url = make(page, "Morning", True)
    start(page)
    page.locator("[data-plan='exercise']", has_text="Plank").wait_for()

    # Errors: beside the fields, in the list above, with the input kept.
    page.goto(url)
    page.locator("html.ready").wait_for(state="attached")
    page.locator("#s0i1 summary").first.click()
    page.locator("#s0i1x0\\.weight").fill("heavy")
    page.locator("#s0i1\\.name").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("#notice", has_text="2 things to correct").wait_for()
    expect(page.locator("#s0i1x0\\.weight").input_value() == "heavy", "the input of an error is lost")
    expect(page.locator("#s0i1x0\\.weight-error").is_visible(), "an error is not beside its field")
    expect(page.evaluate("document.activeElement.id") == "notice", "the list of errors has no focus")
    pictures(page, "plan-errors")
    page.locator(".problem").first.click()
    # Leaving asks.
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.locator(".crumb").click()
    until(page, "() => true")
    expect(asked == ["beforeunload"], f"leaving asked {asked}")
    expect(page.locator("#s0i1x0\\.weight").input_value() == "heavy", "leaving lost the input")

    # Two tabs.
    page.locator("#s0i1x0\\.weight").fill("70")
    page.locator("#s0i1\\.name").fill("Squat")
    other = context.new_page()
    faults.watch(other)
    other.goto(url)
    other.locator("html.ready").wait_for(state="attached")
    other.get_by_label("Name", exact=True).first.fill("Other tab")
    other.get_by_role("button", name="Save", exact=True).click()
    other.locator("#notice.done").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("#notice", has_text="saved elsewhere").wait_for()
    expect(page.locator("#s0i1x0\\.weight").input_value() == "70", "the conflict lost the input")
    pictures(page, "plan-conflict")
    page.get_by_role("button", name="Save mine over it").click()
    page.locator("#notice.done").wait_for()
    other.close()

    # No connection: the input stays.
    page.locator("html.ready").wait_for(state="attached")
    page.get_by_label("Name", exact=True).first.fill("Offline")
    found = len(faults.found)
    context.set_offline(True)
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("#notice", has_text="No connection").wait_for()
    context.set_offline(False)
    page.wait_for_timeout(100)
    del faults.found[found:]
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("#notice.done").wait_for()

    # JSON in and out: every example.
    for file in sorted(examples.glob("*.json")):
        page.goto(Site.url + "/plans")
        page.get_by_role("link", name="Import JSON").click()
        page.locator("html.ready").wait_for(state="attached")
        page.locator("#json-file").set_input_files(file)
        until(page, "() => document.querySelector('#json').value !== ''")
        page.get_by_role("button", name="Replace the form by this").click()
        page.locator("#notice", has_text="Imported").wait_for()
        page.get_by_role("button", name="Save", exact=True).click()
        page.locator("#notice.done").wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download the saved plan").click() if page.locator(
                "#json-box[open]"
            ).count() else (
                page.locator("#json-box summary").click(),
                page.get_by_role("link", name="Download the saved plan").click(),
            )
        written = json.loads(pathlib.Path(download.value.path()).read_text())
        expect(written == json.loads(file.read_text()), f"{file.name}: downloaded {written}")
        fresh = context.new_page()
        requests = []
        fresh.on("requestfinished", lambda request: requests.append(request))
        weight(fresh.goto(page.url.split("?")[0]), file.name)
        fresh.locator("html.ready").wait_for(state="attached")
        total = sum(
            request.sizes()["responseBodySize"] + request.sizes()["responseHeadersSize"] for request in requests
        )
        expect(total <= 2 * LIMIT, f"{file.name}: {total} bytes with style and modules, more than {2 * LIMIT}")
        fresh.close()
        page.goto(page.url.split("?")[0])
        page.locator("html.ready").wait_for(state="attached")
        pictures(page, f"plan-{file.stem}")
        if file.stem == "strength":
            page.evaluate("document.querySelectorAll('.plan-item > details').forEach(e => e.open = true)")
            pictures(page, "plan-open", "#s1i0")
            page.locator("#s1i0x1 summary").click()
            pictures(page, "plan-set-menu", "#s1i0x0")
    weight(page.goto(Site.url + "/plans"), "plans")
    pictures(page, "plans")

    # The start form of the home page.
    page.goto(Site.url + "/")
    page.locator("html.ready").wait_for(state="attached")
    page.locator("#start-new").click()
    page.locator("#plan-field").wait_for()
    page.get_by_label("Plan").select_option(label="Full Body Strength")
    until(page, "() => !document.querySelector('#start-confirm').disabled")
    pictures(page, "home-start-plan")
    page.locator("#start-confirm").click()
    page.wait_for_url("**/live/anna/*")
    page.locator("[data-plan='exercise']", has_text="Easy Skipping").wait_for()

    # Deletes after a question.
    page.goto(url)
    page.locator("html.ready").wait_for(state="attached")
    page.get_by_role("button", name="Delete this plan").click()
    page.locator("#notice", has_text="Delete Offline?").wait_for()
    expect(not page.locator("#unsaved").is_visible(), "a question about an unchanged plan counts as a change")
    pictures(page, "plan-delete")
    page.get_by_role("button", name="Keep it").click()
    page.locator("#notice").wait_for(state="hidden")
    page.get_by_role("button", name="Delete this plan").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url("**/plans?deleted")
    context.close()

    context = browser.new_context(**PHONE, java_script_enabled=True)
    page = log_in(context)
    page.locator("#menu summary").click()
    page.get_by_role("link", name="Plans").click()
    page.wait_for_url("**/plans")
    context.close()

    context = browser.new_context(**DESKTOP, java_script_enabled=False)
    page = log_in(context)
    make(page, "Without", False)
    start(page)
    context.close()
# Chromium logs each answer that refuses a form.
faults.found = [fault for fault in faults.found if "status of 409" not in fault and "status of 422" not in fault]
faults.finish()
