"""The map under touch, keyboard and a strict policy."""

import fixtures
from browser import PHONE, Faults, chromium, close_all, screenshot, until
from world import World

world = World()
faults = Faults(world)


def center(page):
    """Where the mark of the position is on the screen."""
    box = page.locator(".map-mark.here").bounding_box()
    return round(box["x"]), round(box["y"])


def swipe(page, x, y, to_x, to_y):
    """One finger, as a phone sends it."""
    session = page.context.new_cdp_session(page)
    steps = 8
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, steps + 1):
        point = {"x": x + (to_x - x) * step / steps, "y": y + (to_y - y) * step / steps}
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def open_map(browser, route=fixtures.route, **options):
    context = world.context(browser, "anna", **PHONE, reduced_motion="reduce", **options)
    page = context.new_page()
    faults.watch(page)
    world.reset()
    world.publish(
        [
            *fixtures.outdoor("anna", fixtures.now())[:-1],
            (fixtures.topic("anna", "route"), route("anna", fixtures.now())),
        ]
    )
    page.goto(f"{world.url}/live/anna/{fixtures.session_of('anna')}")
    page.locator(".route-line").first.wait_for(state="attached")
    return page


with chromium() as browser:
    page = open_map(browser)
    expect(page.locator("#scale span").inner_text() in ["500 m", "1 km", "2 km"], "the scale has no label")
    expect(page.locator(".map-mark.kilometre").count() == 6, "kilometres are missing")
    opacities = page.eval_on_selector_all(
        ".route-line", "all => all.map(e => Number(e.getAttribute('stroke-opacity')))"
    )
    expect(
        opacities == sorted(opacities) and 0.4 <= opacities[0] < 0.5 and opacities[-1] == 0.9, f"opacities {opacities}"
    )

    # A position a little further on moves the mark and the line's end, without a new drawing of all.
    route = fixtures.route("anna", fixtures.now())
    marks, lines = page.locator(".map-mark").count(), page.locator(".route-line").count()
    page.evaluate("document.querySelector('.map-mark.here').dataset.isKept = 'yes'")
    before = page.locator(".map-mark.here").bounding_box()["y"]
    world.publish([(fixtures.topic("anna", "route"), {**route, "s": route["s"] + 1, "la": route["la"] + 0.003})])
    until(page, "y => document.querySelector('.map-mark.here').getBoundingClientRect().y < y - 3", before)
    expect(page.locator(".route-line").count() == lines, "lines are drawn twice")
    expect(page.locator(".map-mark.here[data-is-kept]").count() == 1, "the mark is drawn again")
    expect(page.locator(".map-mark").count() == marks, "marks are drawn twice")

    # A finger moves the map, and updates leave the view alone until Recenter.
    before = center(page)
    swipe(page, 200, 330, 90, 290)
    page.locator("#recenter").wait_for()
    moved = center(page)
    expect(moved[0] < before[0] - 60, f"a finger moved the map from {before} to {moved}")
    later = fixtures.route("anna", fixtures.now() + 1, la=52.58, lo=13.50)
    world.publish([(fixtures.topic("anna", "route"), later)])
    until(page, "() => document.querySelectorAll('.map-mark.kilometre').length > 6")
    screenshot(page, "map-dragged")
    page.locator("#recenter").click()
    until(
        page,
        """() => {
        const mark = document.querySelector('.map-mark.here').getBoundingClientRect();
        const map = document.querySelector('#map').getBoundingClientRect();
        return Math.abs(mark.x + mark.width / 2 - map.x - map.width / 2) < 3;
    }""",
    )
    expect(not page.locator("#recenter").is_visible(), "Recenter stays after it was pressed")

    # Followed positions come into view without a press.
    later = fixtures.route("anna", fixtures.now() + 2, la=52.60, lo=13.60)
    world.publish([(fixtures.topic("anna", "route"), later)])
    until(
        page,
        """() => {
        const mark = document.querySelector('.map-mark.here').getBoundingClientRect();
        const map = document.querySelector('#map').getBoundingClientRect();
        return mark.x > map.x && mark.x < map.right && mark.y > map.y && mark.y < map.bottom;
    }""",
    )

    # The keyboard moves and zooms; the grid follows the zoom.
    page.locator("#map").focus()
    before = center(page)
    page.keyboard.press("ArrowLeft")
    page.locator("#recenter").wait_for()
    until(page, "x => document.querySelector('.map-mark.here').getBoundingClientRect().x > x + 40", before[0])
    label = page.locator("#scale span").inner_text()
    page.keyboard.press("+")
    until(page, "label => document.querySelector('#scale span').textContent !== label", label)

    # Folded, the map is gone and the numbers move up.
    top = page.locator("#grid").bounding_box()["y"]
    page.locator("#fold").click()
    expect(page.locator("#grid").bounding_box()["y"] < top - 200, "a folded map keeps its height")
    expect(page.locator("#fold").get_attribute("aria-expanded") == "false", "the fold button does not say its state")
    close_all(page.context)

    # The numbers of a marathon never touch, and zooming in brings more of them.
    page = open_map(browser, fixtures.marathon)
    nearest = """() => {
        const all = [...document.querySelectorAll('.map-mark.kilometre')].map(e => e.getBoundingClientRect());
        return Math.min(...all.flatMap((a, i) => all.slice(i + 1).map(b => Math.hypot(a.x - b.x, a.y - b.y))));
    }"""
    count = page.locator(".map-mark.kilometre").count()
    screenshot(page, "map-marathon")
    expect(
        count > 3 and page.evaluate(nearest) > 38, f"{count} kilometres, the nearest {page.evaluate(nearest)} px apart"
    )
    page.locator("#map").focus()
    page.keyboard.press("+")
    until(page, "count => document.querySelectorAll('.map-mark.kilometre').length > count", count)
    expect(page.evaluate(nearest) > 38, f"zoomed in, kilometres are {page.evaluate(nearest)} px apart")
faults.finish()
