"""The page of a finished workout: its looks, its details from chunks, the cursor, editing, deleting, and the way from Live."""

import os
import re

import fixtures
import workouts
from browser import DESKTOP, PHONE, SMALL, close_all, is_thorough, open_page, screenshot, until, visit
from world import run, wait

WEIGHT = 200_000
# Without them the page asks and waits: 5 s is the interval of its requests.
UNANSWERED = 15_000
COUNT_POINTS = """() => {
    const before = CanvasRenderingContext2D.prototype.lineTo;
    window.points = 0;
    CanvasRenderingContext2D.prototype.lineTo = function(...args) { window.points += 1; return before.apply(this, args); };
}"""
MOVE = """async () => {
    const box = document.getElementById('charts');
    const {left, top, width} = box.getBoundingClientRect();
    const times = [];
    for (let i = 0; i < 120; i++) {
        await new Promise(requestAnimationFrame);
        const begun = performance.now();
        box.dispatchEvent(new PointerEvent('pointermove', {
            clientX: left + 60 + (width - 90) * i / 120, clientY: top + 40, pointerType: 'mouse', bubbles: true }));
        // What the browser lays out and paints for it.
        document.body.getBoundingClientRect();
        await new Promise(resume => {
            const channel = new MessageChannel();
            channel.port1.onmessage = resume;
            requestAnimationFrame(() => channel.port2.postMessage(0));
        });
        times.push(window.cost = performance.now() - begun);
    }
    return times.sort((a, b) => a - b);
}"""
WORK = """() => {
    const box = document.getElementById('charts');
    const {left, top, width} = box.getBoundingClientRect();
    const times = [];
    for (let i = 0; i < 120; i++) {
        const begun = performance.now();
        box.dispatchEvent(new PointerEvent('pointermove', {
            clientX: left + 60 + (width - 90) * i / 120, clientY: top + 40, pointerType: 'mouse', bubbles: true }));
        document.body.getBoundingClientRect();
        times.push(performance.now() - begun);
    }
    return times.sort((a, b) => a - b);
}"""


def play(world, *made, shift=0, more=()):
    """What the broker retains of workouts, and the owners and the engine who answer."""
    workouts.answer_chunks(world, *made, shift=shift)
    overviews = [workout.overview() for workout in made]
    world.answers["workouts"] = {"workouts": [*overviews, *workouts.earlier_runs()]}
    world.publish([message for workout in made for message in workout.messages()] + [*more])


def has_charts(page):
    page.locator("#charts .chart canvas").first.wait_for()


def has_color(page):
    page.locator(".route-line[class*='ramp-']").first.wait_for(state="attached")


def open_workout(world, browser, faults, workout, user="anna", device=DESKTOP):
    page = open_page(world, browser, faults, workout.path, user, device)
    page.locator("main.drawn").wait_for()
    return page


def chunk_requests(world):
    with world.lock:
        return [topic for topic, press in world.presses if press.get("type") == "chunks"]


def looks(world, browser, faults):
    """Every kind of workout, light and dark: weight, shifts, accessibility."""
    ways = {"run": (workouts.run, lambda page: (has_charts(page), has_color(page)))}
    if is_thorough:
        ways["strength"] = (workouts.strength, has_charts)
        ways["ride"] = (workouts.ride, lambda page: (has_charts(page), has_color(page)))
        ways["swim"] = (workouts.swim, has_charts)
    for name, (make, ready) in ways.items():
        workout = make()
        exports = [
            workouts.export(workout, "folder", "done"),
            workouts.export(workout, "upload", "failed", attempts=3, reason="the server refused the file"),
        ]
        play(world, workout)
        messages = [*workout.messages(), workouts.profile(workout), *exports]
        visit(world, browser, faults, f"workout-{name}", workout.path, "anna", messages, ready, WEIGHT)
        world.reset()


def kinds(world, browser, faults):
    """Without a route, without anything, in a pool, incomplete: each shows what it has and nothing else, on the smallest phone."""
    incomplete = workouts.run("incomplete", incomplete=True)
    made = [workouts.treadmill(), workouts.empty(), workouts.swim(), workouts.ride(), incomplete, workouts.strength()]
    play(world, *made)
    seen = {}
    for workout in made:
        page = open_workout(world, browser, faults, workout, device=SMALL)
        if workout.series:
            has_charts(page)
        name = workout.record["name"]
        seen[workout.session] = {
            "map": page.locator("#map-part").is_visible(),
            "charts": page.locator("#charts .chart").evaluate_all("all => all.map(e => e.dataset.chart)"),
            "hero": page.locator("#hero").inner_text().split(),
            "notices": page.locator("#notices").inner_text(),
            "title": page.title(),
            "sets": page.locator("#sets").inner_text(),
        }
        faults.look(page, f"workout {name}")
        screenshot(page, f"workout-kind-{name}")
        close_all(page.context)
    treadmill, empty, swim, ride, late, lifts = [seen[workout.session] for workout in made]
    expect = faults.expect
    expect(not treadmill["map"] and treadmill["charts"] == ["heartRate", "speed", "cadence"], f"treadmill: {treadmill}")
    expect(not empty["map"] and empty["charts"] == [] and "12:34" in empty["hero"], f"empty: {empty}")
    expect(swim["charts"] == ["heartRate", "speed"] and "1,500" in swim["hero"], f"swim: {swim}")
    expect(ride["charts"] == ["heartRate", "speed", "elevation", "power"], f"ride: {ride}")
    expect(
        ride["title"] == f"Grunewald Loop · {made[3].record['distance'] / 1000:.2f} km",
        f"ride: the title is {ride['title']}",
    )
    expect("waiting for devices" in late["notices"], f"incomplete: {late}")
    expect("5 × 65 kg\nplanned 8 × 62.5 kg" in lifts["sets"] and "Skipped" in lifts["sets"], f"strength: {lifts}")
    expect(treadmill["notices"] == "", f"a complete one says {treadmill['notices']}")


def standing(world, browser, faults):
    """Who stands has no pace: neither the axis nor the colours of the route follow a position that drifts."""
    workout = workouts.run("standing", standing=600)
    play(world, workout)
    page = open_workout(world, browser, faults, workout)
    has_charts(page)
    has_color(page)
    ends = page.locator("#ramp span").all_inner_texts()
    minutes = [int(re.search(r"(\d+):\d\d /km", end)[1]) for end in ends]
    faults.expect(minutes[0] < 10 and minutes[1] < 6, f"the route's colours are from {ends}")
    faults.expect(page.locator(".route-line:not([class*='ramp-'])").count() > 0, "where one stood has a colour")
    marks = page.locator(".chart[data-chart='speed'] .dygraph-axis-label-y").all_inner_texts()
    faults.expect(len(marks) > 1 and all(mark < "9:00" for mark in marks), f"the axis of the pace is {marks}")
    page.locator("#charts").press("Home")
    page.locator("#readout", has_text="bpm").wait_for()
    faults.expect("/km" not in page.locator("#readout").inner_text(), page.locator("#readout").inner_text())
    close_all(page.context)


def speed(world, browser, faults):
    """Prints how fast the charts of an hour are there and how fast the cursor moves; a busy machine fails nothing."""
    workout = workouts.run()
    play(world, workout)
    page = open_workout(world, browser, faults, workout)
    until(page, "() => document.querySelectorAll('#charts .chart canvas').length >= 8")
    milliseconds = page.evaluate("performance.now()")
    work = page.evaluate(WORK)
    frames = page.evaluate(MOVE)
    half, most = work[len(work) // 2], work[int(len(work) * 0.95)]
    print(
        f"all charts after {milliseconds:.0f} ms; a move of the cursor: {half:.1f} ms, of 95 % {most:.1f} ms; to its frame {frames[60]:.1f} ms"
    )
    close_all(page.context)


def cursor(world, browser, faults):
    """One cursor over charts, map and tables, by mouse and keys; stretches are shown on charts and map."""
    workout = workouts.run()
    play(world, workout, more=[workouts.profile(workout)])
    page = open_workout(world, browser, faults, workout)
    has_charts(page)
    has_color(page)
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        faults.look(page, f"workout-desktop-{theme}")
    page.locator("#charts").evaluate("e => e.scrollIntoView({block: 'end'})")
    box = page.locator("#charts").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    readout = page.locator("#readout")
    readout.filter(has_text="bpm").wait_for()
    text = readout.inner_text()
    found = re.fullmatch(r"\d\d:\d\d · \d\.\d\d km · \d+ bpm · \d:\d\d /km · −?\d+ m · \d+ spm", text)
    faults.expect(found, f"the cursor reads '{text}'")
    faults.expect(page.locator(".map-mark.cursor").count() == 1, "the map has no cursor")
    faults.expect(page.locator("#splits tr.current").count() == 1, "no split is the current one")
    # The map moves it too.
    before = readout.inner_text()
    page.evaluate("scrollTo(0, 0)")
    spot = page.locator(".map-mark.kilometre").nth(2).bounding_box()
    page.mouse.move(spot["x"] + 11, spot["y"] + 11)
    until(page, "before => document.getElementById('readout').textContent !== before", before)

    # By keys alone.
    page.mouse.move(1, 1)
    slider = page.get_by_role("slider", name="Cursor")
    slider.focus()
    page.keyboard.press("Home")
    first = slider.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    second = slider.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    last = slider.get_attribute("aria-valuenow")
    faults.expect(first.startswith("00:00, ") and first != second, f"arrow keys: {first}, {second}")
    faults.expect(last == "3598", f"End leads to {last}")
    page.keyboard.press("Home")
    page.keyboard.press("+")
    page.locator("#zoom-all").wait_for()
    page.keyboard.press("Escape")
    faults.expect(not page.locator("#zoom-all").is_visible(), "Escape does not show the whole")

    page.locator("#charts").evaluate("e => e.scrollIntoView({block: 'end'})")
    box = page.locator("#charts").bounding_box()
    # A zoom draws the values of the stretch, not those of the whole.
    page.evaluate(COUNT_POINTS)
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 60, steps=4)
    page.mouse.up()
    page.locator("#zoom-all").wait_for()
    points = page.evaluate("window.points")
    faults.expect(1200 < points < 4000, f"a zoom to a tenth draws {points} points in four charts")
    page.locator("#zoom-all").click()

    split = page.get_by_role("button", name="Kilometre 3: show on charts and map")
    split.click()
    faults.expect(split.get_attribute("aria-pressed") == "true", "the split is not pressed")
    faults.expect(page.locator(".route-stretch").count() == 1, "the map does not show the split")
    width = page.locator(".chart-mark").evaluate("e => e.offsetWidth")
    faults.expect(40 < width < 90, f"the charts mark {width} px for a tenth of the run")
    page.get_by_role("button", name="Lap 2: show on charts and map").click()
    faults.expect(page.locator(".chart-mark").evaluate("e => e.offsetWidth") > 2 * width, "the lap is not marked")
    page.get_by_role("button", name="5 km: show on charts and map").click()
    faults.expect(split.get_attribute("aria-pressed") == "false", "two stretches are pressed")

    page.locator("#axis-choice").get_by_label("Distance").check()
    page.locator("#charts .chart.last", has_text="Cadence").wait_for()
    until(
        page,
        "() => [...document.querySelectorAll('.chart.last .dygraph-axis-label')].some(e => e.textContent === '10')",
    )
    page.locator("#color-choice").get_by_label("Elevation").check()
    page.locator("#ramp", has_text=re.compile(r"\d+ m")).wait_for()
    close_all(page.context)


def words(world, browser, faults):
    """Records, sources, zones and what is outside, in words; units change all of them."""
    workout = workouts.run()
    play(world, workout, more=[workouts.profile(workout)])
    page = open_workout(world, browser, faults, workout)
    has_charts(page)
    page.locator("#bests-title", has_text="Records made today").wait_for()
    records = page.locator(".best.record").all_inner_texts()
    faults.expect([text.split("\n")[0] for text in records] == ["1 km", "5 km"], f"the records are {records}")
    sources = page.locator("#sources").inner_text()
    faults.expect("strap to 32:10, then watch" in sources, f"the sources are {sources}")
    outside = page.locator("#outside").inner_text()
    faults.expect("95 measurements of the watch and 94 positions" in outside, f"outside: {outside}")
    faults.expect(
        page.title() == f"Morning Run · {workout.record['distance'] / 1000:.2f} km", f"the title is {page.title()}"
    )
    faults.expect("21 Nov 2026, 6:15 am" in page.locator("#date").inner_text(), page.locator("#date").inner_text())
    page.locator("#menu summary").click()
    page.get_by_label("Imperial").check()
    page.keyboard.press("Escape")
    page.locator("#hero", has_text="mi").wait_for()
    page.locator(".chart[data-chart='elevation']", has_text="ft").wait_for()
    close_all(page.context)
    context = world.context(browser, "anna", **DESKTOP, locale="de-DE")
    page = context.new_page()
    page.goto(world.url + workout.path)
    page.locator("#date", has_text="21 Nov 2026, 06:15").wait_for()
    close_all(context)


def replay(world, browser, faults):
    """The route draws itself once; for those who want no motion it is there at once."""
    workout = workouts.run()
    play(world, workout)
    context = world.context(browser, "anna", **PHONE, reduced_motion="no-preference")
    page = context.new_page()
    page.goto(world.url + workout.path)
    page.locator("#map[data-replay='running']").wait_for()
    faults.expect(page.locator(".route-line.undrawn").count() > 0, "the route does not draw itself")
    page.locator("#map[data-replay='done']").wait_for()
    faults.expect(page.locator(".route-line.undrawn").count() == 0, "a part of the route stays hidden")
    close_all(context)
    page = open_workout(world, browser, faults, workout, device=PHONE)
    has_color(page)
    faults.expect(page.locator("#map[data-replay]").count() == 0, "the route moves in spite of reduced motion")
    close_all(page.context)


def details(world, browser, faults):
    """Chunks are taken only with their summary's revision, asked for once, kept, and forgotten at the logout."""
    workout = workouts.run()
    play(world, workout, shift=-7)
    page = open_workout(world, browser, faults, workout)
    page.locator("#details-state", has_text="Loading details").wait_for()
    wait(lambda: chunk_requests(world), "the page asks for chunks")
    # The next request is answered rightly.
    page.wait_for_timeout(300)
    faults.expect(page.locator("#charts .chart").count() == 0, "chunks of another revision were taken")
    workouts.answer_chunks(world, workout)
    page.locator("#charts .chart").first.wait_for()
    page.locator("#details-state").wait_for(state="hidden")
    until(page, "async () => (await indexedDB.databases()).some(({name}) => name === 'pacebus.chunks.anna')")
    asked = len(chunk_requests(world))
    page.reload()
    has_charts(page)
    faults.expect(len(chunk_requests(world)) == asked, "the page asks for what it has")
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    page.wait_for_url("**/login")
    until(page, "async () => !(await indexedDB.databases()).some(({name}) => name.startsWith('pacebus.chunks'))")
    close_all(page.context)


def silence(world, browser, faults):
    """Without an answer the totals stand alone, and *Try again* brings the rest."""
    workout = workouts.treadmill()
    play(world, workout)
    del world.answers["chunks"]
    page = open_page(world, browser, faults, None, "anna", PHONE)
    page.clock.install()
    page.goto(world.url + workout.path)
    page.locator("main.drawn").wait_for()
    page.locator("#details-state", has_text="Loading details").wait_for()
    page.clock.fast_forward(UNANSWERED)
    page.locator("#details-state", has_text="Details are not available now").wait_for()
    faults.expect(page.locator("#hero").inner_text().startswith("Distance"), "the totals are gone")
    faults.look(page, "workout without details")
    workouts.answer_chunks(world, workout)
    page.get_by_role("button", name="Try again").click()
    has_charts(page)
    close_all(page.context)


def past(world, browser, faults):
    """Of a workout whose topics are gone, the owners bring record and chunks again; a stranger's does not exist."""
    workout = workouts.run("past")
    play(world, workout)
    world.publish([(topic, None) for topic, _ in workout.messages()])
    chunks = world.answers["chunks"]

    def answer(topic, request):
        world.publish([(workout.topic("workout"), workout.record)])
        chunks(topic, request)

    world.answers["chunks"] = answer
    page = open_workout(world, browser, faults, workout)
    has_charts(page)
    close_all(page.context)
    unknown = workouts.run("unknown")
    page = open_workout(world, browser, faults, unknown)
    page.get_by_role("heading", name="Workout not found").wait_for()
    faults.look(page, "workout not found")
    world.publish([unknown.state(status="active", segments=[[workouts.START, None]])])
    page.reload()
    page.get_by_role("link", name="Show it live").wait_for()
    close_all(page.context)


def viewer(world, browser, faults):
    """Who only watches asks in another way, and has nothing to press."""
    workout = workouts.run()
    play(world, workout, more=[workouts.export(workout, "folder", "done")])
    page = open_workout(world, browser, faults, workout, "coach")
    has_charts(page)
    topics = set(chunk_requests(world))
    faults.expect(topics == {"pacebus/v1/u/anna/viewers/coach/request"}, f"a viewer asks on {topics}")
    for name in ["#edit", "#delete", "#exports-part", "#note-part"]:
        faults.expect(page.locator(name).count() == 0, f"a viewer sees {name}")
    faults.expect(page.locator("#date").inner_text().startswith("anna"), "whose workout it is stands nowhere")
    close_all(page.context)


def edit(world, browser, faults):
    """The owner edits; only what changed is sent; undone is what becomes `null`; wrong values name their field."""
    workout = workouts.run("forgotten", seconds=2400)
    # Ten minutes at rest at the end.
    for columns, key in [(workout.series, "d"), (workout.track, "d")]:
        still = workout.track["d"][1800] if columns is workout.track else 0
        columns[key] = columns[key][:1801] + [still] * 599
    own = (
        workout.topic("profile"),
        {
            "revision": workout.revision,
            "edit": {"note": "Windy.", "exertion": 6},
            "recorded": {"name": "Morning Run", "activity": "running", "environment": "outdoor"},
        },
    )
    world.answers["edit"] = {"revision": workout.revision + 1}
    play(world, workout, more=[own])
    page = open_workout(world, browser, faults, workout, device=PHONE)
    has_charts(page)
    page.locator("#note", has_text="Windy.").wait_for()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("heading", name="Edit workout").wait_for()
    faults.look(page, "edit dialog")
    screenshot(page, "workout-edit")
    page.get_by_label("Name", exact=True).fill("Hill repeats")
    page.get_by_label("Maximum heart rate", exact=True).fill("20")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").filter(has_text="80 to 250 bpm").wait_for()
    page.get_by_label("Maximum heart rate", exact=True).fill("191")
    page.get_by_role("button", name="Note: as recorded").click()
    page.get_by_role("button", name="End it at the last movement").click()
    page.get_by_role("button", name="Save").click()
    wait(lambda: world.sent("edit"), "an edit")
    sent = {key: value for key, value in world.sent("edit")[-1].items() if key not in ("id", "client", "type")}
    end = sent.pop("trimEnd", 0)
    expected = {"session": workout.session, "name": "Hill repeats", "note": None, "maximumHeartRate": 191}
    faults.expect(sent == expected, f"the edit is {sent}")
    faults.expect(abs(end - workout.series["c"][1800]) <= 15, f"the trim ends at {end - workouts.START} s")
    world.answers["edit"] = {"error": {"code": "invalid_state", "message": "the workout is still being computed"}}
    page.get_by_role("button", name="Edit").click()
    page.locator("[name=exertion]").select_option("9")
    page.get_by_role("button", name="Save").click()
    page.locator("#press.refused", has_text="still being computed").wait_for()
    close_all(page.context)


def press(world, browser, faults):
    """Exports that failed can be tried again; deleting asks with name and date."""
    workout = workouts.treadmill()
    failed = workouts.export(workout, "upload", "failed", attempts=2, reason="no space")
    world.answers["export"] = {}
    world.answers["deleteWorkout"] = {}
    play(world, workout, more=[failed])
    page = open_workout(world, browser, faults, workout)
    # Charts that come during the click would move its button.
    has_charts(page)
    page.get_by_role("button", name="Upload: try again").click()
    wait(lambda: world.sent("export"), "an export")
    faults.expect(world.sent("export")[0]["target"] == "upload", f"{world.sent('export')}")
    page.get_by_role("button", name="Delete workout").click()
    text = page.locator("#delete-dialog").inner_text()
    faults.expect("Treadmill" in text and "21 Nov 2026" in text, f"the dialog says {text}")
    faults.expect(page.evaluate("document.activeElement.textContent") == "Keep it", "the dialog's first press deletes")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url(world.url + "/")
    faults.expect(world.sent("deleteWorkout")[0]["session"] == workout.session, "another workout is deleted")
    close_all(page.context)


def ended(world, browser, faults):
    """From Live the athlete comes here when the workout has ended, on whatever device; who watches gets a link."""
    now = fixtures.now()
    session = fixtures.session_of("anna")
    live = f"/live/anna/{session}"
    running = fixtures.outdoor("anna", now)
    pages = {}
    for way in ["completed", "incomplete"]:
        world.publish(running)
        for user in ["anna", "coach"]:
            page = open_page(world, browser, faults, live, user, PHONE)
            page.locator("main.drawn").wait_for()
            pages[user] = page
        later = int((now + 60) * 1000)
        end = {"segments": [[now - 2530, now]], "endedAt": now, "revision": later}
        record = fixtures.workout(
            "anna", session, now, revision=later, **({"incomplete": True} if way == "incomplete" else {})
        )
        saving = (fixtures.topic("anna", "state"), fixtures.state("anna", now, status="saving", **end))
        world.publish([saving])
        pages["anna"].locator("#saving").wait_for()
        status = "saving" if way == "incomplete" else "completed"
        over = (
            fixtures.topic("anna", "state"),
            fixtures.state("anna", now, status=status, **{**end, "revision": later + 1}),
        )
        world.publish([record, over])
        pages["anna"].wait_for_url(f"**/workout/anna/{session}")
        pages["anna"].get_by_role("heading", name="Outdoor Running").wait_for()
        link = pages["coach"].get_by_role("link", name="See the workout")
        link.wait_for()
        faults.expect(pages["coach"].url.endswith(live), f"{way}: the viewer is led to {pages['coach'].url}")
        link.click()
        pages["coach"].wait_for_url(f"**/workout/anna/{session}")
        for each in pages.values():
            close_all(each.context)
        if way == "completed":
            # A finished one that is opened stays.
            page = open_page(world, browser, faults, live, "anna", PHONE)
            page.get_by_role("link", name="See the workout").wait_for()
            faults.expect(page.url.endswith(live), "a workout that had ended before leads on")
            close_all(page.context)
        world.reset()
        now = fixtures.now()


def paper(world, browser, faults):
    """On paper: totals, splits and charts, as wide as the paper, without buttons."""
    workout = workouts.run()
    play(world, workout)
    page = open_workout(world, browser, faults, workout)
    has_charts(page)
    has_color(page)
    page.set_viewport_size({"width": 688, "height": 1016})
    page.emulate_media(media="print")
    until(
        page,
        "() => [...document.querySelectorAll('.chart canvas')].every(e => e.getBoundingClientRect().right <= innerWidth)",
    )
    buttons = page.locator("button:visible:not(.stretch)").all_inner_texts()
    faults.expect(buttons == [], f"paper has the buttons {buttons}")
    for name in ["#hero", "#splits", "#charts"]:
        faults.expect(page.locator(name).is_visible(), f"paper lacks {name}")
    height = page.evaluate("document.getElementById('charts').getBoundingClientRect().bottom")
    faults.expect(height <= 1016, f"the charts end at {height} px of a page of 1016 px")
    screenshot(page, "workout-paper")
    close_all(page.context)


SCENARIOS = [
    looks,
    kinds,
    standing,
    speed,
    cursor,
    words,
    replay,
    details,
    silence,
    past,
    viewer,
    edit,
    press,
    ended,
    paper,
]
ONLY = os.environ.get("SCENARIOS")
run([scenario for scenario in SCENARIOS if not ONLY or scenario.__name__ in ONLY.split(",")])
