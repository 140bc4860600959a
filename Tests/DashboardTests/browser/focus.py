"""Where the focus goes when what holds it removes itself, hides or is switched off."""

import fixtures
from browser import PHONE, Faults, chromium, close_all, until
from world import World

world = World()
faults = Faults(world)
LIVE = f"{world.url}/live/anna/{fixtures.session_of('anna')}"


def open_page(browser, url, login, messages):
    context = world.context(browser, login, **PHONE, reduced_motion="reduce")
    page = context.new_page()
    faults.watch(page)
    world.reset()
    world.publish(messages)
    page.goto(url)
    page.locator("main.drawn").wait_for()
    return page


def press(page, selector):
    page.locator(selector).first.focus()
    page.keyboard.press("Enter")


def expect_focus(page, wanted, name):
    """Once two frames have passed: a browser takes the focus from what is switched off or hidden with the next one."""
    page.evaluate("() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    found = page.evaluate("""() => {
        const e = document.activeElement;
        return e.id || (e === document.body ? "the body" : e.innerText);
    }""")
    if wanted != found:
        faults.found.append(f"{name}: the focus is on {found}, not on {wanted}")


def reply(page, is_done):
    world.answer_newest(**({"revision": 1} if is_done else {"error": {"code": "invalid_state", "message": "refused"}}))


with chromium() as browser:
    page = open_page(browser, LIVE, "anna", fixtures.live_scenes(fixtures.now())["running"])
    for number in range(3):
        warning = {"at": fixtures.now(), "kind": "warning", "text": f"Disk {number} is full"}
        world.publish([(fixtures.topic("anna", "announcements"), warning)])
        page.locator("#notices button").nth(number).wait_for()
    for left in [2, 1, 0]:
        press(page, "#notices button")
        until(page, "left => document.querySelectorAll('#notices button').length === left", left)
        expect_focus(page, "Dismiss" if left else "Outdoor Running", f"a notice with {left} behind it")

    # A button that is switched off until the reply.
    press(page, "#toggle")
    page.locator("#press", has_text="Pausing…").wait_for()
    reply(page, False)
    page.locator("#press.refused").wait_for()
    expect_focus(page, "toggle", "a refused press")
    press(page, "#press button")
    page.locator("#press.refused").wait_for(state="hidden")
    expect_focus(page, "lap", "a dismissed refusal")

    # Controls that go away with the workout.
    now = fixtures.now()
    paused = fixtures.state("anna", now, status="paused", segments=[[now - 60, now]])
    world.publish([(fixtures.topic("anna", "state"), paused)])
    page.locator("#toggle", has_text="Resume").wait_for()
    press(page, "#end")
    press(page, "#end-confirm")
    page.locator("#press", has_text="Ending…").wait_for()
    reply(page, True)
    done = fixtures.state("anna", fixtures.now(), status="completed", segments=[[now - 60, now]], endedAt=now)
    world.publish([(fixtures.topic("anna", "state"), done)])
    page.wait_for_url("**/workout/**", wait_until="commit")
    close_all(page.context)

    # A long saving covers the page but for the bar, and can be left.
    old = fixtures.state("anna", fixtures.now() - 20, status="saving", segments=[[now - 60, now]])
    page = open_page(browser, LIVE, "anna", [(fixtures.topic("anna", "state"), old)])
    page.locator("#saving", has_text="Still saving; you may leave").wait_for()
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("() => { const e = document.activeElement; return e.id || e.className || e.tagName; }")
        )
    if "saving-home" not in reached or not reached <= {"saving-home", "skip", "BODY"}:
        faults.found.append(f"while a page is covered the Tab key reaches {reached}")
    is_above = page.evaluate("""() => {
        const bar = document.querySelector('#bar');
        bar.hidden = false;
        const { x, y, width, height } = bar.getBoundingClientRect();
        return document.elementFromPoint(x + width / 2, y + height / 2).closest('#bar') === bar;
    }""")
    if not is_above:
        faults.found.append("a cover hides the bar")
    page.evaluate("document.querySelector('#bar').hidden = true")
    faults.look(page, "still saving")
    page.locator("#saving-home").click()
    page.wait_for_url(f"{world.url}/")
    close_all(page.context)

    # Cancel during a countdown asks, and the countdown runs on.
    page = open_page(browser, LIVE, "anna", fixtures.live_scenes(fixtures.now())["countdown"])
    press(page, "#cancel-start")
    page.locator("#discard-dialog[open]").wait_for()
    expect_focus(page, "Keep going", "the question about a countdown")
    page.keyboard.press("Enter")
    page.locator("#discard-dialog").wait_for(state="hidden")
    expect_focus(page, "cancel-start", "a countdown that goes on")
    if world.sent():
        faults.found.append(f"Cancel during a countdown discards unasked: {world.sent()}")
    press(page, "#cancel-start")
    press(page, "#discard-confirm")
    page.locator("#press", has_text="Discarding…").wait_for(state="attached")
    close_all(page.context)

    # A card keeps the focus when others come.
    now = fixtures.now()
    page = open_page(
        browser,
        world.url,
        "coach",
        [
            (fixtures.topic("ben", name), value)
            for name, value in [("state", fixtures.state("ben", now)), ("metrics", fixtures.metrics("ben", now))]
        ]
        + [("pacebus/v1/u/ben/current", fixtures.current("ben", now))],
    )
    card = page.locator(".card[data-user='ben'] a")
    card.wait_for()
    card.focus()
    world.publish(
        [
            (fixtures.topic("carla", "state"), fixtures.state("carla", now)),
            ("pacebus/v1/u/carla/current", fixtures.current("carla", now)),
        ]
    )
    page.locator(".card[data-user='carla']").wait_for()
    if not page.evaluate("() => document.activeElement.closest('[data-user=ben]')"):
        faults.found.append("a card that comes takes the focus from another")
    close_all(page.context)

    # A prompt that closes.
    page = open_page(
        browser,
        f"{world.url}/virtual-runs/{fixtures.RUN}",
        "anna",
        fixtures.run_scenes(fixtures.now())["run-finished"],
    )
    press(page, "#prompt-keep")
    page.locator("#prompt").wait_for(state="hidden")
    if page.evaluate("() => document.activeElement === document.body"):
        faults.found.append("a dismissed prompt leaves no focus")
    page.reload()
    page.locator(".lane").first.wait_for()
    if page.locator("#prompt").is_visible():
        faults.found.append("a dismissed prompt comes back when the page is loaded again")
    close_all(page.context)
faults.finish()
