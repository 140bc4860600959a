"""The page of a workout in progress: its layout on low and small screens and in large text."""

import math
import re

import fixtures
import workouts
from browser import DESKTOP, PHONE, SMALL, TEXT_FAULTS, close_all, open_page, screenshot, until
from fixtures import RUN, run_scenes
from world import run, wait

LIVE = f"/live/anna/{fixtures.session_of('anna')}"
# A phone on its side, and a browser window of 1280×800 at 200 %.
LOW = {
    "landscape": {"viewport": {"width": 844, "height": 390}, "has_touch": True, "is_mobile": True},
    "zoomed": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
}
SMALL_WIDTHS = [320, 390]
NUMBERS = """() => [...document.querySelectorAll('.cell')].map(cell => {
    const { top, bottom, left, right } = cell.getBoundingClientRect();
    return { top, bottom, left, right };
})"""


def open_live(world, browser, faults, messages, device=PHONE, user="anna"):
    world.publish(messages)
    page = open_page(world, browser, faults, LIVE, user, device)
    page.locator("main.drawn").wait_for()
    if any(topic.endswith("/route") for topic, _ in messages):
        page.locator(".route-line").first.wait_for(state="attached")
    return page


def simplified(points, tolerance=5.0):
    """As route-builder simplifies: no point is further from the line than the tolerance in metres."""
    if len(points) < 3:
        return points
    (north, east), (to_north, to_east) = points[0], points[-1]
    shrinkage = math.cos(math.radians(north))
    length = math.hypot(to_north - north, (to_east - east) * shrinkage) or 1e-12

    def distance(point):
        area = (to_north - north) * (point[1] - east) - (to_east - east) * (point[0] - north)
        return abs(area) * shrinkage / length * 111_320

    index = max(range(1, len(points) - 1), key=lambda index: distance(points[index]))
    if distance(points[index]) <= tolerance:
        return [points[0], points[-1]]
    return simplified(points[: index + 1], tolerance)[:-1] + simplified(points[index:], tolerance)


def runner(count):
    """A position each second, 3 m apart, on a winding path."""
    latitude, longitude, heading = 52.5145, 13.3501, 0.0
    points = []
    for number in range(count):
        heading = 1.4 * math.sin(number / 45) + 0.3 * math.sin(number / 7)
        latitude += 3 * math.cos(heading) / 111_320
        longitude += 3 * math.sin(heading) / 111_320 / math.cos(math.radians(latitude))
        points.append((latitude, longitude))
    return points


def sketch(points):
    """The line that route-builder sends: what is older than the last whole 64 positions stays, the rest is simplified anew."""
    line = [points[0]]
    for begin in range(0, len(points) - 1, 64):
        line += simplified(points[begin : begin + 65])[1:]
    return line


# The drawn line's pieces in order as points of the screen, where the map shows them, and the centre of the mark.
DRAWN = """() => {
    const map = document.querySelector('#map').getBoundingClientRect();
    const mark = document.querySelector('.map-mark.here').getBoundingClientRect();
    const pieces = [...document.querySelectorAll('.route-line')].flatMap(path => {
        const matrix = path.getScreenCTM();
        return path.getAttribute('d').split('M').slice(1).map(part => part.split('L').map(text => {
            const [x, y] = text.trim().split(/[ ,]+/).map(Number);
            const point = new DOMPoint(x, y).matrixTransform(matrix);
            return [point.x, point.y];
        })).filter(points => points.length > 1);
    });
    return { pieces, mark: [mark.x + mark.width / 2, mark.y + mark.height / 2], map: [map.left, map.top, map.right, map.bottom] };
}"""


def turns_back(a, b, c):
    """Whether b → c returns on a → b by more than 2 px."""
    (x, y), (to_x, to_y) = (b[0] - a[0], b[1] - a[1]), (c[0] - b[0], c[1] - b[1])
    length = math.hypot(x, y)
    return length > 0 and x * to_x + y * to_y < -2 * length


def attached_line(world, browser, faults):
    """The line ends at the mark at every zoom, without a gap and without a spur."""
    now, points, count = fixtures.now(), runner(1000), 600
    page = open_page(world, browser, faults, None, "anna", PHONE)

    def publish():
        place = points[count - 1]
        route = fixtures.route(
            "anna", now + count, la=place[0], lo=place[1], pl=[fixtures.polyline(sketch(points[:count]))]
        )
        # The distance says that the page has drawn what came before it.
        world.publish([(fixtures.topic("anna", "route"), route)])
        world.publish([(fixtures.topic("anna", "metrics"), fixtures.metrics("anna", now + count, d=count * 10.0))])

    def move(seconds):
        nonlocal count
        count += seconds
        publish()
        page.locator("[data-key='distance'] .number", has_text=f"{count / 100:.2f}").wait_for()

    world.publish([(fixtures.topic("anna", "state"), fixtures.state("anna", now))])
    publish()
    page.goto(world.url + LIVE)
    page.locator(".route-line").first.wait_for(state="attached")
    page.locator("#map").focus()
    for key in ["-"] * 5 + ["+"] * 8:
        page.keyboard.press(key)
        for _ in range(8):
            move(3)
        until(
            page,
            """() => { const { mark: [x, y], map } = (%s)();
            return x > map[0] && x < map[2] && y > map[1] && y < map[3]; }"""
            % DRAWN,
        )
        drawn = page.evaluate(DRAWN)
        scale = page.locator("#scale").inner_text()
        ends, (left, top, right, bottom) = drawn["pieces"], drawn["map"]
        gap = math.dist(ends[-1][-1], drawn["mark"])
        faults.expect(gap <= 2, f"scale {scale}: the line ends {gap:.0f} px from the mark")
        for piece, following in zip(ends, ends[1:]):
            (x, y), gap = piece[-1], math.dist(piece[-1], following[0])
            if left < x < right and top < y < bottom:
                faults.expect(gap <= 2, f"scale {scale}: a gap of {gap:.0f} px in the line")
        line = [point for piece in ends for point in piece]
        line = [point for index, point in enumerate(line) if index == 0 or math.dist(point, line[index - 1]) > 0.5]
        back = [b for a, b, c in zip(line, line[1:], line[2:]) if turns_back(a, b, c)]
        faults.expect(not back, f"scale {scale}: the line turns back at {back}")
    screenshot(page, "live-attached")
    close_all(page.context)


IN_VIEW = """marks => {
    const map = document.querySelector('#map').getBoundingClientRect();
    return marks.map(name => document.querySelector(name).getBoundingClientRect()).every(mark =>
        mark.left >= map.left && mark.right <= map.right && mark.top >= map.top && mark.bottom <= map.bottom);
}"""


def whole_route(world, browser, faults):
    """A button shows all of the route, and Recenter follows the runner again, as near as before."""
    page = open_live(world, browser, faults, fixtures.outdoor("anna", fixtures.now()))
    page.locator("#map").focus()
    before = page.locator("#scale").inner_text()
    for _ in range(3):
        page.keyboard.press("+")
        until(page, "before => document.querySelector('#scale').innerText !== before", before)
        before = page.locator("#scale").inner_text()
    ends = [".map-mark.start", ".map-mark.here"]
    faults.expect(not page.evaluate(IN_VIEW, ends), "zoomed in, the map still shows all of the route")
    page.get_by_role("button", name="Whole route").tap()
    until(page, IN_VIEW, ends)
    page.locator("#recenter").wait_for()
    whole = page.locator("#scale").inner_text()
    place = page.locator(".map-mark.start").bounding_box()
    later = fixtures.route("anna", fixtures.now() + 1, la=52.58, lo=13.50)
    world.publish([(fixtures.topic("anna", "route"), later)])
    until(page, "() => document.querySelectorAll('.map-mark.kilometre').length > 6")
    faults.expect(
        page.locator(".map-mark.start").bounding_box() == place, "a position moves the view of the whole route"
    )
    faults.look(page, "live-whole")
    page.locator("#recenter").tap()
    until(page, IN_VIEW, [".map-mark.here"])
    until(page, "before => document.querySelector('#scale').innerText === before", before)
    faults.expect(whole != before, "the whole route has the scale of before")
    faults.expect(not page.locator("#recenter").is_visible(), "Recenter stays after it was pressed")
    close_all(page.context)


# The height of the lines in a chart's canvas, and how many of its columns have any.
DRAWN_COLUMNS = """key => {
    const canvas = document.querySelector(`[data-chart='${key}'] canvas`);
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const probe = document.createElement('span');
    probe.style.color = `var(--${{ speed: 'route', heartRate: 'heart', elevation: 'elevation' }[key]})`;
    canvas.parentElement.append(probe);
    const [red, green, blue] = getComputedStyle(probe).color.match(/[0-9]+/g).map(Number);
    probe.remove();
    let columns = 0;
    for (let x = 0; x < width; x++)
        for (let y = 0; y < height; y++) {
            const i = (y * width + x) * 4;
            if (data[i + 3] > 200 && Math.abs(data[i] - red) + Math.abs(data[i + 1] - green) + Math.abs(data[i + 2] - blue) < 12) {
                columns++;
                break;
            }
        }
    return columns / width;
}"""


def charts(world, browser, faults):
    """Pace, heart rate and elevation of the last five minutes and of all, which are loaded when they are opened."""
    now = fixtures.now()
    world.publish(fixtures.outdoor("anna", now, values={"t": 1000, "h": 120}))
    page = open_page(world, browser, faults, None, "anna", PHONE)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(world.url + LIVE)
    page.locator("main.drawn").wait_for()
    for step in range(1, 41):
        values = fixtures.metrics("anna", now + step, t=1000 + 10 * step, h=120 + step, dp=300 + step)
        route = fixtures.route("anna", now + step, al=40 + step)
        world.publish([(fixtures.topic("anna", "route"), route), (fixtures.topic("anna", "metrics"), values)])
    page.locator("#more summary").tap()
    page.locator("#rows .row", has_text="Heart rate").filter(has_text="160 bpm").wait_for()
    faults.expect(not any("dygraphs" in url for url in asked), "dygraphs is loaded before the charts are opened")
    page.locator("#charts-part summary").tap()
    for key in ["speed", "heartRate", "elevation"]:
        page.locator(f"[data-chart='{key}'] canvas").first.wait_for()
    labels = page.locator(".chart-label").all_inner_texts()
    faults.expect([label.split()[0] for label in labels] == ["Pace", "Heart", "Elevation"], f"the charts are {labels}")
    faults.expect(
        "160 bpm" in labels[1] and "5:40 /km" in labels[0] and "80 m" in labels[2], f"now, charts say {labels}"
    )
    for key in ["speed", "heartRate", "elevation"]:
        faults.expect(page.evaluate(DRAWN_COLUMNS, key) > 0.6, f"{key}: no line")
    axis = "() => [...document.querySelectorAll('.chart.last .dygraph-axis-label-x')].map(label => label.textContent)"
    few = page.evaluate(axis)
    faults.expect(page.locator("#charts-since").inner_text() == "", "five minutes of values say that some are missing")
    page.locator(".chart.last").scroll_into_view_if_needed()
    screenshot(page, "live-charts")
    page.locator("#charts-stretch label", has_text="All").tap()
    until(page, "before => JSON.stringify((%s)()) !== JSON.stringify(before)" % axis, few)
    faults.expect(
        "when this page was opened" in page.locator("#charts-since").inner_text(),
        "nothing says where lines begin",
    )
    # The owners bring what was before the page opened the workout.
    start = now - 2530
    at = range(0, 1401, 2)
    rows = {
        "series": {"c": [start + t for t in at], "h": [100 + t // 50 for t in at]},
        "track": {"c": [start + t for t in at], "d": [3.0 * t for t in at], "al": [60.0 for _ in at]},
    }
    parts = [
        (fixtures.topic("anna", f"{kind}/{part['n']}"), part)
        for kind, columns in rows.items()
        for part in workouts.chunks(columns, 0)
    ]
    world.answers["chunks"] = lambda *_: world.publish(parts)
    page.reload()
    page.locator("main.drawn").wait_for()
    page.locator("#charts-part summary").tap()
    page.locator("#charts-stretch label", has_text="All").tap()
    page.locator(".chart-label", has_text="160 bpm").wait_for()
    page.locator("#charts-since:empty").wait_for(state="attached")
    # Beside the axis, lines are drawn from the beginning on.
    for key in ["speed", "heartRate", "elevation"]:
        until(page, f"async key => await ({DRAWN_COLUMNS})(key) > 0.8", key)
    # New values come into the open charts, and cycling shows speed.
    later = fixtures.metrics("anna", now + 50, t=1410, h=99, dp=None, dv=7.5)
    world.publish(
        [
            (fixtures.topic("anna", "state"), fixtures.state("anna", now + 50, "cycling")),
            (fixtures.topic("anna", "metrics"), later),
        ]
    )
    page.locator(".chart-label", has_text="99 bpm").wait_for()
    page.locator(".chart-label", has_text="27.0 km/h").wait_for()
    faults.look(page, "live-charts")
    close_all(page.context)


def unknown_energy(world, browser, faults):
    """The heart rate takes the place of an energy that is not known."""
    now = fixtures.now()
    page = open_live(world, browser, faults, fixtures.outdoor("anna", now, values={"k": None, "ks": None}))
    numbers = "() => [...document.querySelectorAll('.cell dt')].map(label => label.textContent)"
    labels = page.evaluate(numbers)
    faults.expect("Heart rate" in labels and "Energy" not in labels, f"without energy, the numbers are {labels}")
    page.locator(".cell", has_text="Heart rate").filter(has_text="142").wait_for()
    world.publish([(fixtures.topic("anna", "metrics"), fixtures.metrics("anna", now + 1))])
    page.locator(".cell", has_text="Energy").filter(has_text="~612").wait_for()
    faults.expect("Heart rate" not in page.evaluate(numbers), "with energy, the heart rate stays")
    close_all(page.context)


def frozen_metrics(world, browser, faults):
    """A route that moves does not make old metrics live."""
    now = fixtures.now()
    world.publish(
        [
            (fixtures.topic("anna", "state"), fixtures.state("anna", now)),
            (fixtures.topic("anna", "route"), fixtures.route("anna", now)),
            (fixtures.topic("anna", "metrics"), fixtures.metrics("anna", now - 9)),
        ]
    )
    page = open_page(world, browser, faults, LIVE, "coach", PHONE)
    page.locator("main.drawn").wait_for()
    signal = page.locator("#signal")
    faults.expect(signal.inner_text() == "Weak signal", f"with metrics of 9 s ago it says {signal.inner_text()}")
    step = 0

    def is_silent():
        nonlocal step
        step += 1
        place = {"la": 52.53 + step / 10_000, "d": 8305 + step, "n": 2498 + step}
        world.publish([(fixtures.topic("anna", "route"), fixtures.route("anna", fixtures.now(), **place))])
        page.wait_for_timeout(1000)
        return signal.inner_text().startswith("No signal for")

    wait(is_silent, "no signal without metrics", 12)
    faults.expect(page.locator("[data-key='pace'] .number").inner_text() == "--", "without metrics the pace stays")
    faults.expect(
        "dimmed" in page.locator("[data-key='distance']").get_attribute("class"), "the distance is not dimmed"
    )
    close_all(page.context)


def lost_connection(world, browser, faults):
    """Without a connection a coach sees of when the totals are, and no value of the moment; the athlete's clock runs on."""
    world.publish(fixtures.outdoor("anna", fixtures.now()))
    pages = {}
    for user in ["coach", "anna"]:
        # Their failing connections are on the console.
        context = world.context(browser, user, **PHONE, reduced_motion="reduce", timezone_id="UTC")
        pages[user] = context.new_page()
        pages[user].goto(world.url + LIVE)
        pages[user].locator("main.drawn").wait_for()
    coach, anna = pages["coach"], pages["anna"]
    time_of = "[data-key='duration'] .number"
    world.dashboard.kill()
    coach.locator("#signal", has_text=re.compile(r"^As of \d{1,2}:\d\d:\d\d [ap]m$")).wait_for()
    faults.expect(
        coach.locator("[data-key='pace'] .number").inner_text() == "--", "without a connection the pace stays"
    )
    faults.expect(coach.locator("[data-key='distance'] .number").inner_text() == "8.31", "the distance is gone")
    faults.expect(coach.locator(".cell.dimmed").count() == 4, "not all totals are dimmed")
    as_of, before, own = (
        coach.locator("#signal").inner_text(),
        *(page.locator(time_of).inner_text() for page in pages.values()),
    )
    until(anna, "before => document.querySelector(\"[data-key='duration'] .number\").textContent !== before", own)
    faults.expect(coach.locator(time_of).inner_text() == before, "a coach's clock runs on")
    faults.expect(coach.locator("#signal").inner_text() == as_of, "the time of the totals changes")
    faults.expect("As of" not in anna.locator("#signal").inner_text(), "an athlete's own clock stands still")
    screenshot(coach, "live-lost")
    faults.look(coach, "live-lost")
    world.dashboard.start()
    world.publish([(fixtures.topic("anna", "metrics"), fixtures.metrics("anna", fixtures.now()))])
    until(coach, "() => document.querySelector('#signal').textContent === 'Live'")
    faults.expect(
        coach.locator("[data-key='pace'] .number").inner_text() == "5:45", "connected again, the pace is unknown"
    )
    for page in pages.values():
        close_all(page.context)


def next_section(world, browser, faults):
    """When a section is done, the page offers the first exercise of the next; in the end, to finish."""
    now = fixtures.now()
    state = fixtures.planned(now, "over")
    progress = state["progress"]
    sets = {"1-1": 5, "1-2": 4}
    progress["completed"] = {
        item: [{"round": 1, "set": number, "at": now - 9} for number in range(count)] for item, count in sets.items()
    }
    progress.update(item="1-2", done=2)
    del progress["set"]
    page = open_live(world, browser, faults, [(fixtures.topic("anna", "state"), state)])
    faults.expect(not page.locator("#finish").is_visible(), "with a section left the page offers to finish")
    screenshot(page, "live-next")
    faults.look(page, "live-next")
    page.get_by_role("button", name="Next: Push-up").tap()
    press = wait(lambda: world.sent("goTo"), "a press")[0]
    faults.expect(press["item"] == "2-1", f"the page sends {press}")
    world.answer_newest()
    progress.update(item="2-1", set=0)
    state["timer"].update(block=1, type="emom", phase="work", rounds=6, endsAt=now + 50)
    world.publish([(fixtures.topic("anna", "state"), {**state, "revision": state["revision"] + 1})])
    page.locator("#complete-set").wait_for()
    faults.expect(not page.locator("#next-exercise").is_visible(), "with a set left the page offers another exercise")
    state["timer"].update(phase="over")
    world.publish([(fixtures.topic("anna", "state"), {**state, "revision": state["revision"] + 2})])
    page.locator("#finish").wait_for()
    close_all(page.context)


def hierarchy(world, browser, faults):
    """One hero figure, two second ones and the rest; a kilometre that is full is seen, unless motion is reduced."""
    now = fixtures.now()
    messages = fixtures.outdoor("anna", now, segments=[[now - 4000, None]])
    for device in [PHONE, SMALL, DESKTOP]:
        page = open_live(world, browser, faults, messages, device)
        sizes = page.eval_on_selector_all(
            ".cell dd", "all => all.map(e => parseFloat(getComputedStyle(e).fontSize)).sort((a, b) => b - a)"
        )
        faults.expect(
            sizes[0] > sizes[1] * 1.1 and sizes[1] == sizes[2] and sizes[2] > sizes[3] * 1.1, f"figures of {sizes} px"
        )
        for fault in page.evaluate(TEXT_FAULTS, device["viewport"]["width"]):
            faults.found.append(f"figures, {device['viewport']['width']} px: {fault}")
        screenshot(page, f"live-hierarchy-{device['viewport']['width']}")
        close_all(page.context)
    for motion in ["no-preference", "reduce"]:
        page = open_live(world, browser, faults, messages)
        page.emulate_media(reduced_motion=motion)
        page.evaluate("""() => {
            window.durations = [];
            document.addEventListener('animationstart', ({ target, animationName }) => animationName === 'reached'
                && window.durations.push(parseFloat(getComputedStyle(target).animationDuration)));
        }""")
        split = {"kind": "split", "number": 8, "unit": "km", "duration": 345, "at": fixtures.now()}
        world.publish([(fixtures.topic("anna", "announcements"), split)])
        until(page, "() => window.durations.length === 1")
        duration = page.evaluate("window.durations[0]")
        faults.expect(
            (duration > 1) == (motion == "no-preference"), f"with motion {motion} a kilometre moves for {duration} s"
        )
        until(page, "() => !document.querySelector('.reached')")
        close_all(page.context)


def low_screens(world, browser, faults):
    for name, device in LOW.items():
        for user in ["anna", "coach"]:
            page = open_live(world, browser, faults, fixtures.outdoor("anna", fixtures.now()), device, user)
            screenshot(page, f"live-{name}-{user}")
            height = device["viewport"]["height"]
            end = page.locator("#controls").bounding_box()["y"] if user == "anna" else height
            numbers = page.evaluate(NUMBERS)
            faults.expect(len(numbers) >= 4, f"{name}: {len(numbers)} numbers")
            faults.expect(
                all(number["top"] >= 0 and number["bottom"] <= end for number in numbers),
                f"{name}, {user}: not all numbers are on the screen, of which {end} px are free: {numbers}",
            )
            box = page.locator("#map-box").bounding_box()
            faults.expect(
                box["height"] >= 150 and box["width"] >= 180 and box["y"] + box["height"] <= end + 1,
                f"{name}, {user}: the map is {box}",
            )
            faults.expect(
                all(number["right"] <= box["x"] + 1 or number["bottom"] <= box["y"] for number in numbers),
                f"{name}, {user}: the map comes before the numbers",
            )
            faults.look(page, f"live-{name}-{user}")
            close_all(page.context)


def large_text(world, browser, faults):
    now = fixtures.now()
    live = fixtures.live_scenes(now)
    pages = {
        "running": (LIVE, "anna", live["running"], ".route-line"),
        "marathon": (LIVE, "anna", live["marathon"], ".route-line"),
        "planned": (LIVE, "anna", live["planned"], "#complete-set"),
        "paused": (LIVE, "coach", live["paused"], ".route-line"),
        "home": ("/", "coach", fixtures.home(now), ".card"),
        "home-own": (
            "/",
            "anna",
            [*live["running"], ("pacebus/v1/u/anna/current", fixtures.current("anna", now))],
            ".card",
        ),
        "runs": ("/virtual-runs", "anna", [], "#runs .card"),
        "run-two": (f"/virtual-runs/{RUN}", "anna", run_scenes(now)["run-two"], ".lanes.two"),
        "run-lanes": (f"/virtual-runs/{RUN}", "anna", run_scenes(now)["run-lanes"], ".lane.lost"),
        "run-hosting": (f"/virtual-runs/{RUN}", "anna", run_scenes(now)["run-hosting"], "#people button"),
        "run-ready": (f"/virtual-runs/{RUN}", "anna", run_scenes(now)["run-ready"], "#ready .primary"),
    }
    for name, (path, user, messages, ready) in pages.items():
        world.answers = {"runs": fixtures.run_overviews(now, 5), "routes": fixtures.run_details()}
        world.publish(messages)
        for width in SMALL_WIDTHS:
            page = open_page(world, browser, faults, None, user, {**PHONE, "viewport": {"width": width, "height": 844}})
            page.add_init_script(
                "addEventListener('DOMContentLoaded', () => document.documentElement.style.fontSize = '200%')"
            )
            page.goto(world.url + path)
            page.locator("main.drawn").wait_for()
            page.locator(ready).first.wait_for(state="attached")
            page.evaluate("for (const each of document.querySelectorAll('main details.more')) each.open = true")
            screenshot(page, f"large-{name}-{width}")
            for fault in page.evaluate(TEXT_FAULTS, width):
                faults.found.append(f"{name} at {width} px in large text: {fault}")
            close_all(page.context)
        world.reset()


if __name__ == "__main__":
    run(
        [
            low_screens,
            large_text,
            attached_line,
            whole_route,
            charts,
            unknown_energy,
            frozen_metrics,
            lost_connection,
            next_section,
            hierarchy,
        ]
    )
