"""A live page on a run or between two sets: sizes, the lock, speech, and the end of a rest."""

import fixtures
from browser import PHONE, SMALL, TOO_SMALL, Faults, chromium, close_all, until
from world import World, wait

world = World()
faults = Faults(world)
# What a headless browser has no device for.
DEVICES = """window.tones = 0;
window.vibrations = 0;
window.spoken = [];
Object.defineProperty(navigator, 'vibrate', { value: () => { window.vibrations++; return true; } });
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function (...times) { window.tones++; return start.apply(this, times); };
SpeechSynthesis.prototype.speak = utterance => window.spoken.push(utterance.text);"""
CONTROLS = ["#end", "#lap", "#toggle"]
CLIPPED = """() => [...document.querySelectorAll('.control')].some(button => {
    const range = document.createRange();
    range.selectNodeContents(button);
    const [inner, outer] = [range.getBoundingClientRect(), button.getBoundingClientRect()];
    return inner.left < outer.left + 2 || inner.right > outer.right - 2;
})"""


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def open_live(browser, messages, device=PHONE):
    page = world.context(browser, "anna", **device, reduced_motion="reduce").new_page()
    faults.watch(page)
    page.add_init_script(DEVICES)
    world.reset()
    world.publish(messages)
    page.goto(f"{world.url}/live/anna/{fixtures.session_of('anna')}")
    page.locator("main.drawn").wait_for()
    return page


def boxes(page):
    return [page.locator(name).bounding_box() for name in CONTROLS]


def running(browser, device):
    now = fixtures.now()
    page = open_live(browser, fixtures.outdoor("anna", now), device)
    page.locator(".route-line").first.wait_for(state="attached")
    page.locator("#more summary").tap()
    small = page.evaluate(TOO_SMALL, 44)
    expect(not small, f"smaller than 44 px: {small}")
    before = boxes(page)
    expect(all(box["height"] >= 64 and box["width"] >= 64 for box in before), f"the controls are {before}")

    # Nothing moves the controls: neither a press, nor its refusal, nor another status, nor a notice.
    page.locator("#toggle").tap()
    page.locator("#press", has_text="Pausing…").wait_for()
    expect(boxes(page) == before, "a press moves the controls")
    wait(world.sent, "a press")
    message = "the session cannot be paused while its coach is asked, and this line is long"
    world.answer_newest(error={"code": "invalid_state", "message": message})
    page.locator("#press.refused").wait_for()
    expect(boxes(page) == before, "a refusal moves the controls")
    page.locator("#press span").tap()
    expect(page.locator("#press.refused").count() == 1, "a touch of a refusal dismisses it")
    page.get_by_role("button", name="Dismiss").focus()
    page.keyboard.press("Enter")
    page.locator("#press").wait_for(state="hidden")
    expect(page.locator("#press.refused").count() == 0, "a dismissed refusal stays")
    expect(not page.evaluate(CLIPPED), "a control is wider than its button while End says why it is off")
    expect(page.locator("#end").inner_text().split() == ["End", "Pause", "first"], "End does not say why it is off")
    world.publish(
        [
            (
                fixtures.topic("anna", "state"),
                fixtures.state(
                    "anna",
                    fixtures.now(),
                    status="paused",
                    banner="liveMetricsUnavailable",
                    segments=[[now - 600, now - 20]],
                ),
            )
        ]
    )
    page.locator("#toggle", has_text="Resume").wait_for()
    page.locator("#notices .notice").first.wait_for()
    expect(boxes(page) == before, "a pause moves the controls")
    expect(page.locator("#end").inner_text().strip() == "End", "End is on and says that it is off")
    expect(not page.evaluate(CLIPPED), "a control is wider than its button")

    # Locked, the page ignores touches and Escape, until the padlock is held for a second.
    page.locator("#lock").tap()
    padlock = page.locator("#unlock")
    expect(padlock.bounding_box()["width"] == 96, "the padlock is not 96 px wide")
    for _ in range(3):
        page.keyboard.press("Escape")
    page.touchscreen.tap(before[2]["x"] + 20, before[2]["y"] + 20)
    padlock.tap()
    page.locator("#lock-dialog[open]").wait_for()
    expect(len(world.sent()) == 1, "a touch of the locked page was a press")
    padlock.focus()
    page.keyboard.down("Enter")
    page.locator("#lock-dialog").wait_for(state="hidden")
    page.keyboard.up("Enter")
    close_all(page.context)


def faster(browser):
    """A press whose goal another device has reached is done, and no error; another refusal stays."""
    now = fixtures.now()
    page = open_live(browser, fixtures.outdoor("anna", now))
    page.locator("#toggle").tap()
    page.locator("#press", has_text="Pausing…").wait_for()
    wait(world.sent, "a press")
    paused = fixtures.state("anna", fixtures.now(), status="paused", segments=[[now - 600, now - 1]])
    world.publish([(fixtures.topic("anna", "state"), paused)])
    page.locator("#toggle", has_text="Resume").wait_for()
    message = "pause is not possible while the session is paused; allowed: active"
    world.answer_newest(error={"code": "invalid_state", "message": message})
    page.locator("#press").wait_for(state="hidden")
    page.locator("#toggle:enabled").tap()
    wait(lambda: len(world.sent()) == 2, "another press")
    world.answer_newest(error={"code": "invalid_state", "message": "the session has ended"})
    page.locator("#press.refused", has_text="the session has ended").wait_for()
    close_all(page.context)


def announced(number):
    return [
        (
            fixtures.topic("anna", "announcements"),
            {"kind": "split", "at": fixtures.now(), "number": number, "unit": "km", "duration": 271},
        )
    ]


def speech(browser):
    page = open_live(browser, fixtures.outdoor("anna", fixtures.now()))
    world.publish(announced(3))
    until(page, "() => document.querySelector('#announce').lastChild?.textContent === 'Kilometre 3 in 4:31'")
    expect(page.evaluate("window.spoken.length") == 0, "the page speaks unasked")
    page.locator("#speak").tap()
    world.publish(announced(4))
    until(page, "() => window.spoken.at(-1) === 'Kilometre 4 in 4:31'")
    page.locator("#speak-hint", has_text="Speech stops when the screen is off.").wait_for()

    # What a page says twice is announced twice, and nothing that comes with something else is left out.
    world.publish(announced(5) + announced(5))
    until(
        page,
        "() => [...document.querySelectorAll('#announce p')].filter(p => p.textContent === 'Kilometre 5 in 4:31').length === 2",
    )

    # A reload keeps the choice to speak, laps and warnings, and what was dismissed.
    world.publish(
        [
            (
                fixtures.topic("anna", "announcements"),
                {"kind": "lap", "number": 1, "at": fixtures.now(), "distance": 3210},
            )
        ]
    )
    until(page, "() => document.querySelector('#announce').lastChild?.textContent === 'Lap 1: 3.21 km'")
    for number in (1, 2):
        world.publish(
            [
                (
                    fixtures.topic("anna", "announcements"),
                    {"kind": "warning", "at": fixtures.now() + number, "text": f"disk {number} is full"},
                )
            ]
        )
        page.locator("#notices .notice", has_text=f"disk {number} is full").wait_for()
    dismissed = page.locator("#notices .notice", has_text="disk 1 is full")
    dismissed.get_by_role("button").tap()
    # Otherwise the touch may reach the page after its reload.
    dismissed.wait_for(state="hidden")
    page.reload()
    page.locator("main.drawn").wait_for()
    expect(
        page.locator("#notices .notice").all_inner_texts() == ["disk 2 is full\nDismiss"],
        f"after a reload: {page.locator('#notices').inner_text()}",
    )
    expect(page.locator("#speak[aria-pressed=true]").count() == 1, "a reload forgets the choice to speak")
    page.locator("#speak-hint", has_text="Touch the page once to allow speech.").wait_for()
    page.locator("#more summary").tap()
    page.locator("#speak-hint", has_text="Speech stops when the screen is off.").wait_for()
    page.locator("#laps tr", has_text="3.21 km").wait_for()
    close_all(page.context)


def rest(browser, is_hidden):
    now = fixtures.now()
    state = fixtures.planned(now, "rest")
    state["timer"]["endsAt"] = now + 6
    page = open_live(
        browser,
        [(fixtures.topic("anna", "state"), state), (fixtures.topic("anna", "metrics"), fixtures.metrics("anna", now))],
    )
    page.locator("h1").tap()
    page.locator("#rest-hint", has_text="At the end: tone and vibration, while the screen is on.").wait_for()
    expect(page.evaluate("window.tones + window.vibrations") == 0, "a tone before the end of the rest")
    if is_hidden:
        page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    until(page, "() => document.querySelector('#announce').lastChild?.textContent === 'The rest is over'")
    found = page.evaluate("[window.tones, window.vibrations]")
    expect(
        found == ([0, 0] if is_hidden else [2, 1]),
        f"tones and vibrations are {found}, {'hidden' if is_hidden else 'visible'}",
    )
    expect(page.locator("#plan.rest").count() == 1, "the end of the rest completed it")
    close_all(page.context)


def presentation(browser):
    """Each view offers the other one, by the name that session-engine knows."""
    now = fixtures.now()
    for mode, other in [("workout", "list"), ("list", "workout")]:
        page = open_live(browser, [(fixtures.topic("anna", "state"), fixtures.planned(now, mode=mode))])
        page.locator("#presentation").tap()
        wait(world.sent, "a press")
        expect(world.sent()[0]["presentationMode"] == other, f"{mode}: the press is {world.sent()}")
        close_all(page.context)


def undo(browser):
    """After the last set of an exercise the next one is current, and Undo stays where it was."""
    now = fixtures.now()
    state = fixtures.planned(now)
    state["progress"]["completed"] = {}
    page = open_live(browser, [(fixtures.topic("anna", "state"), state)])
    button, skip = (page.locator(f"[data-plan-command={name}]") for name in ["uncompleteSet", "skipExercise"])
    expect(button.is_disabled(), "Undo is on before a set is done")
    before = skip.bounding_box()
    later = fixtures.planned(now + 1)
    later["progress"].update(
        item="1-2",
        set=0,
        painFlagged=["1-2"],
        completed={"1-1": [{"round": 1, "set": number, "at": now} for number in range(5)]},
    )
    world.publish([(fixtures.topic("anna", "state"), later)])
    page.locator("[data-plan=exercise]", has_text="Bent-over Row").wait_for()
    expect(skip.bounding_box() == before, "Skip moves where Undo was")
    noted = page.locator("[data-plan=set]").inner_text()
    expect(noted == "Set 1 of 4 · Pain noted", f"beside the set of a painful exercise: {noted}")
    # Both say what they are about.
    page.get_by_role("button", name="Skip Bent-over Row", exact=True).wait_for()
    page.get_by_role("button", name="Undo Bench Press, 8 × 62.5 kg", exact=True).wait_for()
    button.tap()
    press = wait(world.sent, "a press")[0]
    expect(press["type"] == "uncompleteSet" and "item" not in press, f"Undo presses {press}")
    close_all(page.context)


with chromium() as browser:
    for device in [PHONE, SMALL]:
        running(browser, device)
    faster(browser)
    presentation(browser)
    undo(browser)
    speech(browser)
    for is_hidden in [False, True]:
        rest(browser, is_hidden)
faults.finish()
