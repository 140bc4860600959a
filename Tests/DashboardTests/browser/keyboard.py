"""Start, pause and end by the keyboard alone; presses survive a reload and an engine that is away."""

import time

import fixtures
from browser import DESKTOP, TIMEOUT, Faults, chromium, close, press_tab_to, until
from world import World

world = World()
faults = Faults(world)


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def last_press(kind):
    """The newest press, once it is of this type: a page shows a press before the server has it."""
    deadline = time.monotonic() + TIMEOUT
    while not (presses := world.sent()) or presses[-1]["type"] != kind:
        if time.monotonic() > deadline:
            raise SystemExit(f"no press {kind} in {presses}")
        time.sleep(0.02)
    return presses[-1]


def press_start(page):
    press_tab_to(page, faults, "Start new")
    page.keyboard.press("Enter")
    page.locator("#start-dialog[open]").wait_for()
    press_tab_to(page, faults, "Start")
    page.keyboard.press("Enter")
    page.locator("#press", has_text="Starting…").wait_for()


with chromium() as browser:
    context = world.context(browser, "anna", **DESKTOP)
    page = context.new_page()
    faults.watch(page)
    world.reset()
    page.goto(world.url)
    press_start(page)
    withdrawn = last_press("start")
    # A start that nothing answers for 10 s can be withdrawn.
    expect(page.get_by_role("button", name="Withdraw").count() == 0, "a start is withdrawn before it had time")
    page.locator("#press", has_text="The server does not answer. Your press is kept.").wait_for()
    faults.look(page, "withdraw")
    press_tab_to(page, faults, "Withdraw")
    page.keyboard.press("Enter")
    discard = last_press("discard")
    world.answer_newest(error={"code": "not_found", "message": "no such session"})
    page.locator("#press").wait_for(state="hidden")
    expect(discard["id"] != withdrawn["id"], "a withdrawal has the id of its start")
    page.goto("about:blank")
    world.reset()
    page.goto(world.url)
    press_start(page)
    start = last_press("start")
    session = world.topic_of(start).split("/")[4]
    expect(start["type"] == "start" and start["activity"] == "running", f"start is {start}")

    # A reload sends the same press again.
    page.reload()
    page.locator("#press", has_text="Starting…").wait_for()
    expect({press["id"] for press in world.sent()} == {start["id"]}, "a reload made another press")
    world.answer_newest(revision=1)
    page.wait_for_url(f"**/live/anna/{session}")

    def state(**changes):
        now = fixtures.now()
        value = fixtures.state("anna", now, **{"session": session, "laps": [], **changes})
        name = f"pacebus/v1/{session[-2:]}/anna/{session}/state"
        world.publish([(name, value)])

    begun = fixtures.now()
    state(segments=[[begun, None]])
    page.locator("#toggle", has_text="Pause").wait_for()
    until(page, "() => !document.querySelector('#toggle').disabled")
    expect(page.locator("#end").is_disabled(), "End is enabled while the session is active")
    press_tab_to(page, faults, "Pause")
    page.keyboard.press("Enter")
    page.locator("#press", has_text="Pausing…").wait_for()
    pause = last_press("pause")
    expect(pause["type"] == "pause" and fixtures.now() - pause["at"] < 5, f"pause is {pause}")
    expect(page.locator("#toggle span").inner_text() == "Pause", "the press decided what is shown, not the state")
    state(status="paused", segments=[[begun, begun + 5]])
    world.answer_newest(revision=2)
    page.locator("#toggle", has_text="Resume").wait_for()
    until(page, "() => !document.querySelector('#end').disabled")
    page.evaluate("document.activeElement.blur()")
    press_tab_to(page, faults, "End")
    page.keyboard.press("Enter")
    page.locator("#end-dialog[open]").wait_for()
    expect(page.evaluate("document.activeElement.textContent") == "Keep going", "the dialog does not focus Keep going")
    page.keyboard.press("Escape")
    page.locator("#end-dialog").wait_for(state="hidden")
    expect(not world.sent("end"), "Escape ended the workout")
    page.keyboard.press("Enter")
    press_tab_to(page, faults, "End and save")
    page.keyboard.press("Enter")
    page.locator("#press", has_text="Ending…").wait_for()
    end = last_press("end")
    expect(end["type"] == "end" and "streams" not in end, f"end is {end}")

    # A refusal shows the engine's words and gives the button back.
    world.answer_newest(error={"code": "invalid_state", "message": "the session is active"})
    page.locator("#press.refused", has_text="the session is active").wait_for()
    expect(not page.locator("#end").is_disabled(), "End stays disabled after a refusal")

    # Another tab shows a press that is under way, and keeps an open dialog until it takes the next.
    other = context.new_page()
    faults.watch(other)
    other.goto(page.url)
    other.locator("#toggle", has_text="Resume").wait_for()
    other.locator("#end:enabled").click()
    page.locator("#toggle").click()
    other.locator("#press", has_text="Resuming…").wait_for()
    for name in ["end-confirm", "discard-confirm"]:
        expect(other.locator(f"#{name}").is_disabled(), f"{name} is on while a press of another tab is under way")
    # Pressed before the other tab's press is drawn.
    other.evaluate("() => { const end = document.querySelector('#end-confirm'); end.disabled = false; end.click(); }")
    expect(other.locator("#end-dialog").is_visible(), "the dialog of a press that is not taken closes")
    close(page)
    resume = last_press("resume")
    expect(resume["id"] != pause["id"], f"resume is {resume}")

    # What is entered while a request is under way stays.
    runs = context.new_page()
    faults.watch(runs)
    world.answers = {}
    world.publish(fixtures.run_scenes(fixtures.now())["run-hosting"])
    runs.goto(f"{world.url}/virtual-runs")
    runs.locator("#contacts li").first.wait_for()
    runs.locator("#invites-from label", has_text="Nobody").click()
    runs.locator("#people-press", has_text="Saving…").wait_for()
    choice = runs.locator("[name=invitesFrom][value=nobody]")
    expect(choice.is_checked() and choice.is_disabled(), "the choice of who may invite is not kept until its reply")
    runs.get_by_label("Account name").fill("zoe")
    runs.evaluate("document.querySelector('#person-form').requestSubmit()")
    expect(runs.get_by_label("Account name").input_value() == "zoe", "a name that is not taken is lost")
    runs.goto(f"{world.url}/virtual-runs/{fixtures.RUN}")
    for name in ["zoe", "yara"]:
        runs.locator("#invite").click()
        runs.locator("#invite-form [name=people]").fill(name)
        runs.evaluate("document.querySelector('#invite-form').requestSubmit()")
        runs.locator("#press", has_text="Inviting…").wait_for()
    expect(runs.locator("#invite-confirm").is_disabled(), "Invite is on while an invitation is under way")
    kept = runs.locator("#invite-form [name=people]")
    expect(kept.is_visible() and kept.input_value() == "yara", "a second invitation is lost")
faults.finish()
