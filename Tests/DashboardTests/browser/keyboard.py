"""Start, pause and end by the keyboard alone; presses survive a reload and an engine that is away: keyboard.py URL."""

import sys

import fixtures
from browser import DESKTOP, Faults, Server, chromium, until

server = Server(sys.argv[1])
faults = Faults(server)


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def tab_to(page, text):
    """Presses Tab until the focused element has this text; it must be visible and have an outline."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate("""() => {
            const e = document.activeElement;
            return { text: (e.innerText || e.getAttribute('aria-label') || '').trim(), outline: getComputedStyle(e).outlineStyle,
                     width: e.getBoundingClientRect().width };
        }""")
        if found["text"] == text:
            expect(found["outline"] != "none" and found["width"] > 0, f"{text}: the focus is not visible")
            return
    faults.found.append(f"the Tab key does not reach {text}")


def last_press():
    return server.presses()[-1]


with chromium() as browser:
    context = browser.new_context(**DESKTOP, extra_http_headers={"Test-Login": "anna"})
    page = context.new_page()
    faults.watch(page)
    server.reset()
    page.goto(server.url)
    page.locator("html.ready").wait_for(state="attached")
    tab_to(page, "Start new")
    page.keyboard.press("Enter")
    page.locator("#start-dialog[open]").wait_for()
    tab_to(page, "Start")
    page.keyboard.press("Enter")
    page.locator("#press", has_text="Starting…").wait_for()
    start = last_press()
    expect(start["type"] == "start" and start["activity"] == "running" and len(start["session"]) == 36, f"start is {start}")

    # A reload posts the same press again.
    page.reload()
    page.locator("#press", has_text="Starting…").wait_for()
    expect({press["id"] for press in server.presses()} == {start["id"]}, "a reload made another press")
    server.post("/test/reply", {"id": start["id"], "ok": True, "now": fixtures.now(), "revision": 1})
    page.wait_for_url(f"**/live/anna/{start['session']}")

    def state(**changes):
        now = fixtures.now()
        value = fixtures.state("anna", now, **{"session": start["session"], "laps": [], **changes})
        name = f"pacebus/v1/{start['session'][-2:]}/anna/{start['session']}/state"
        server.publish([(name, value)])

    begun = fixtures.now()
    state(segments=[[begun, None]])
    page.locator("#toggle", has_text="Pause").wait_for()
    until(page, "() => !document.querySelector('#toggle').disabled")
    expect(page.locator("#end").is_disabled(), "End is enabled while the session is active")
    tab_to(page, "Pause")
    page.keyboard.press("Enter")
    page.locator("#press", has_text="Pausing…").wait_for()
    pause = last_press()
    expect(pause["type"] == "pause" and pause["age"] < 5, f"pause is {pause}")
    expect(page.locator("#toggle span").inner_text() == "Pause", "the press decided what is shown, not the state")
    state(status="paused", segments=[[begun, begun + 5]])
    server.post("/test/reply", {"id": pause["id"], "ok": True, "now": fixtures.now(), "revision": 2})
    page.locator("#toggle", has_text="Resume").wait_for()
    until(page, "() => !document.querySelector('#end').disabled")
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "End")
    page.keyboard.press("Enter")
    page.locator("#end-dialog[open]").wait_for()
    expect(page.evaluate("document.activeElement.textContent") == "Keep going", "the dialog does not focus Keep going")
    page.keyboard.press("Escape")
    page.locator("#end-dialog").wait_for(state="hidden")
    expect(len(server.presses()) == 3, "Escape ended the workout")
    page.keyboard.press("Enter")
    tab_to(page, "End and save")
    page.keyboard.press("Enter")
    page.locator("#press", has_text="Ending…").wait_for()
    end = last_press()
    expect(end["type"] == "end" and "streams" not in end, f"end is {end}")

    # A refusal shows the engine's words and gives the button back.
    server.post("/test/reply", {"id": end["id"], "ok": False, "now": fixtures.now(),
                                "error": {"code": "invalid_state", "message": "the session is active"}})
    page.locator("#press.refused", has_text="the session is active").wait_for()
    expect(not page.locator("#end").is_disabled(), "End stays disabled after a refusal")

    # Another tab shows a press that is under way.
    other = context.new_page()
    faults.watch(other)
    other.goto(page.url)
    other.locator("#toggle", has_text="Resume").wait_for()
    page.locator("#toggle").click()
    other.locator("#press", has_text="Resuming…").wait_for()
faults.finish()
