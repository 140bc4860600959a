"""The editor of plans with the real session-engine: a plan by the keyboard, refusals at their fields, two tabs, start and deletion."""

import re
import time

from browser import DESKTOP, PHONE, Faults, chromium
from system import System


def open_page(system, browser, faults, path, device=DESKTOP, context=None):
    context = context or browser.new_context(**device, reduced_motion="reduce")
    system.log_in(context, "anna")
    page = context.new_page()
    faults.watch(page)
    page.goto(system.url + path)
    page.locator("main.drawn").wait_for()
    return page


def tab_to(page, label, back=False):
    """Presses Tab until the focused element has this text or label."""
    for _ in range(90):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        text = page.evaluate(
            "() => { const e = document.activeElement; return e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText || ''; }"
        )
        if text.strip() == label:
            return
    raise SystemExit(f"the Tab key does not reach {label}")


def save(page):
    page.locator("#save").click()
    page.locator("#notice.done", has_text="Saved.").wait_for()


def by_keyboard(system, browser, faults):
    """A plan of two exercises is made, saved and loaded again by the keyboard alone."""
    page = open_page(system, browser, faults, "/plans")
    page.locator("#none").wait_for()
    tab_to(page, "New plan")
    page.keyboard.press("Enter")
    page.locator("#plan-form").wait_for()
    for label, text in [("Name", "Legs"), ("Exercise", "Squat"), ("Set 1, repetitions", "8"), ("Set 1, load", "62,5")]:
        tab_to(page, label)
        page.keyboard.type(text)
    page.locator("#unsaved").wait_for()
    tab_to(page, "Add a set")
    page.keyboard.press("Enter")
    page.locator("#s0i0x1").wait_for()
    faults.expect(page.locator("#s0i0x1\\.weight").input_value() == "62,5", "a new set does not repeat the one before")
    tab_to(page, "Add an exercise")
    page.keyboard.press("Enter")
    page.locator("#s0i1:focus-within").wait_for()
    page.keyboard.type("Plank")
    tab_to(page, "Set 1, time")
    page.keyboard.type("45 s")
    tab_to(page, "Save", back=True)
    page.keyboard.press("Enter")
    page.locator("#notice.done", has_text="Saved.").wait_for()
    page.locator("#unsaved").wait_for(state="hidden")
    page.reload()
    page.locator("#title", has_text="Legs").wait_for()
    faults.expect(names(page) == ["Squat", "Plank"], f"after a reload the exercises are {names(page)}")
    page.locator("#s0i1 button[data-verb=up]").first.click()
    save(page)
    page.reload()
    page.locator("#title", has_text="Legs").wait_for()
    faults.expect(names(page) == ["Plank", "Squat"], f"in their new order the exercises are {names(page)}")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size["viewport"])
        faults.look(page, f"plan {size['viewport']['width']}")
    page.set_viewport_size(DESKTOP["viewport"])
    path = page.url.removeprefix(system.url)
    page.goto(f"{system.url}/plans")
    page.locator("#plans", has_text="Legs").wait_for()
    faults.look(page, "plans")
    page.context.close()
    return path


def names(page):
    page.locator(".plan-item summary strong").first.wait_for()
    return page.locator(".plan-item summary strong").all_inner_texts()


def refusals(system, browser, faults, path):
    """What cannot be saved is marked at its field, by the page and by the engine, and nothing is lost."""
    page = open_page(system, browser, faults, path)
    page.locator("#s0i1 summary").first.click()
    weight = page.locator("#s0i1x0\\.weight")
    weight.fill("heavy")
    page.locator("#save").click()
    page.locator("#notice.error", has_text="Not saved: one thing to correct").wait_for()
    faults.expect(weight.get_attribute("aria-invalid") == "true", "the field is not marked")
    weight.fill("100000")
    page.locator("#save").click()
    page.locator("#notice.error", has_text="Not saved").wait_for()
    faults.expect(weight.input_value() == "100000", "a refusal loses what was typed")
    faults.look(page, "a refused plan")
    page.once("dialog", lambda dialog: dialog.accept())
    page.context.close()


def two_tabs(system, browser, faults, path):
    """The second save of the same version asks, shows both, and replaces nothing unseen."""
    first = open_page(system, browser, faults, path)
    second = first.context.new_page()
    faults.watch(second)
    second.goto(first.url)
    second.locator("#title", has_text="Legs").wait_for()
    second.locator("#name").fill("Legs, second tab")
    first.locator("#name").fill("Legs, first tab")
    save(first)
    second.locator("#save").click()
    second.locator("#notice", has_text="This plan was saved elsewhere").wait_for()
    second.get_by_role("button", name="Save mine over it").click()
    second.locator("#notice.done", has_text="Saved.").wait_for()
    first.locator("#title", has_text="Legs, second tab").wait_for()
    faults.expect(first.locator("#name").input_value() == "Legs, second tab", "the unchanged tab shows an old version")
    first.context.close()


def start_and_delete(system, browser, faults, path):
    """A started plan is on Live with its sets; deleted, it is gone from the list, and the workout continues."""
    page = open_page(system, browser, faults, path, PHONE)
    page.locator("#choices").click()
    page.locator("#start-countdown").select_option("0")
    page.locator("#start").click()
    page.wait_for_url(re.compile("/live/anna/"))
    page.locator("[data-plan=exercise], #plan-exercise", has_text="Plank").first.wait_for()
    live = page.url
    page.goto(system.url + path)
    page.locator("#delete").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url(re.compile(r"/plans\?deleted"))
    page.locator("#none").wait_for()
    page.goto(system.url + path)
    page.locator("#missing", has_text="does not exist").wait_for()
    page.goto(live)
    page.locator("#toggle", has_text="Pause").wait_for()
    page.context.close()


with System() as system, chromium() as browser:
    faults = Faults(system)
    path = by_keyboard(system, browser, faults)
    for scenario in (refusals, two_tabs, start_and_delete):
        begun = time.monotonic()
        scenario(system, browser, faults, path)
        print(f"{scenario.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
faults.finish()
