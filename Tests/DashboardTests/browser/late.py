"""Whatever comes late moves nothing: each message, each module, the style sheets and who reads.

A page is opened with a part held back until it has appeared, or for as long as it can be. Nothing that is visible may move by itself.
With SCREENSHOTS it takes all states and parts, otherwise the most different ones on a phone.
"""

import os

import fixtures
from browser import COUNT_SHIFTS, DESKTOP, PHONE, Faults, Held, check_shifts, chromium, close_all, until
from world import World

world = World()
faults = Faults(world)
LIVE = f"/live/anna/{fixtures.session_of('anna')}"
HELD = 600
is_thorough = "SCREENSHOTS" in os.environ
PARTS = ["**/me", "**/modules/*.js", "**/*.css"] + (
    ["**/modules/map.js", "**/leaflet/*", "**/icons.svg"] if is_thorough else []
)


def open_page(browser, device, path, login, messages):
    context = world.context(browser, login, **device)
    page = context.new_page()
    page.add_init_script(COUNT_SHIFTS)
    faults.watch(page)
    world.reset()
    world.publish(messages)
    return page


def late_messages(browser, size, device, name, path, login, messages):
    """Each message alone comes when the page has appeared."""
    for index, late in enumerate(messages):
        # A page without state waits for it. On a desktop "More" is open and lists what the first metrics bring.
        if path == LIVE and late[0].endswith(("/state", "/metrics") if device == DESKTOP else "/state"):
            continue
        page = open_page(browser, device, path, login, messages[:index] + messages[index + 1 :])
        page.goto(world.url + path)
        page.locator("main.drawn").wait_for()
        world.publish([late])
        page.wait_for_timeout(HELD)
        check_shifts(page, faults, f"{name}-{size} with a late {late[0].rsplit('/', 1)[1]}")
        close_all(page.context)


def late_files(browser, size, device, name, path, login, messages, ready):
    """Who reads and the files come one after the other, in several orders."""
    for part in PARTS:
        page = open_page(browser, device, path, login, messages)
        held = Held(page, part)
        page.goto(world.url + path, wait_until="commit")
        held.release_slowly()
        ready(page)
        page.locator("main.drawn").wait_for()
        check_shifts(page, faults, f"{name}-{size} with late {part}")
        close_all(page.context)


def late_state(browser, size, device):
    """The page of a workout that begins now: what its state says comes together."""
    page = open_page(browser, device, LIVE, "anna", [])
    # An answer without the workout would say that there is none.
    world.answers["workouts"] = lambda topic, press: None
    page.goto(world.url + LIVE)
    page.locator("#status", has_text="Waiting for data").wait_for()
    page.wait_for_timeout(HELD)
    world.publish(fixtures.live_scenes(fixtures.now())["planned-list"])
    page.locator("#plan-items .current").wait_for()
    page.locator("main.drawn").wait_for()
    check_shifts(page, faults, f"state-{size}")
    close_all(page.context)


def late_position(browser, size, device):
    """A position long after the start: the reader opens the map, which has room only beside the numbers of a desktop."""
    scene = fixtures.live_scenes(fixtures.now())["indoor"]
    page = open_page(browser, device, LIVE, "anna", scene)
    page.goto(world.url + LIVE)
    page.locator("main.drawn").wait_for()
    if page.locator("#map-box").is_visible() != (device == DESKTOP):
        faults.found.append(f"position-{size}: the map of a workout without position")
    world.publish([(fixtures.topic("anna", "route"), fixtures.route("anna", fixtures.now()))])
    if device == DESKTOP:
        page.locator(".route-line").first.wait_for()
        check_shifts(page, faults, f"position-{size}")
        return close_all(page.context)
    button = page.get_by_role("button", name="Show map")
    button.wait_for()
    check_shifts(page, faults, f"position-{size}")
    faults.look(page, f"position-{size}")
    button.click()
    page.locator(".route-line").first.wait_for()
    button.wait_for(state="detached")
    close_all(page.context)


def late_notices(browser, size, device):
    """Services that go offline while the page is open, with a map and without."""
    for name in ["silent", "indoor", "planned-list"]:
        scenes = fixtures.live_scenes(fixtures.now())
        page = open_page(browser, device, LIVE, "anna", scenes[name])
        page.goto(world.url + LIVE)
        page.locator("main.drawn").wait_for()
        for service in ["metrics-aggregator", "route-builder"]:
            world.set_online(service, False)
        page.locator("#notices .notice").nth(1).wait_for()
        check_shifts(page, faults, f"notices-{name}-{size}")
        # One that covers something can be hidden, until its service goes offline again.
        for left in [1, 0]:
            page.locator("#notices").get_by_role("button", name="Hide").first.click()
            until(page, "left => document.querySelectorAll('#notices li').length === left", left)
        for is_online in [True, False]:
            world.set_online("metrics-aggregator", is_online)
            page.wait_for_timeout(HELD)
        page.locator("#notices li").wait_for()
        close_all(page.context)


def shown(selector, text=None):
    return lambda page: page.locator(selector).filter(has_text=text).first.wait_for()


def invisible_dialog(browser):
    """The dialog of a new workout is there for a press before the modules."""
    for part in ["**/me", "**/modules/home.js"]:
        page = open_page(browser, DESKTOP, "/", "anna", [])
        held = Held(page, part)
        page.goto(world.url, wait_until="commit")
        page.locator("#start-new").wait_for()
        until(page, "() => document.styleSheets.length > 0")
        for _ in range(4):
            page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.id")
        if focused != "start-new":
            faults.found.append(f"dialog without {part}: Tab reaches {focused}")
        page.keyboard.press("Enter")
        held.release()
        page.locator("#start-confirm").wait_for()
        for _ in range(4):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator("#press", has_text="Starting…").wait_for()
        close_all(page.context)


with chromium() as browser:
    invisible_dialog(browser)
    for size, device in {"phone": PHONE, **({"desktop": DESKTOP} if is_thorough else {})}.items():
        late_state(browser, size, device)
        late_position(browser, size, device)
        late_notices(browser, size, device)
        for name, ready in {
            "silent": shown("#signal", "No signal"),
            "planned-list": shown("#plan-items .current"),
            "completed": shown("#ended"),
        }.items():
            if name == "completed" and not is_thorough:
                continue
            messages = fixtures.live_scenes(fixtures.now())[name]
            late_messages(browser, size, device, name, LIVE, "anna", messages)
            late_files(browser, size, device, name, LIVE, "anna", messages, ready)
        home = fixtures.home(fixtures.now())
        late_files(browser, size, device, "home", "/", "coach", home, shown(".card .chip", "No signal"))
faults.finish()
