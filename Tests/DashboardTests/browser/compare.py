"""Two workouts over each other, and the runners of a virtual run: against values computed here, by mouse and keys."""

import bisect
import re

import fixtures
import workouts
from browser import DESKTOP, PHONE, close_all, open_page, screenshot, until, visit
from world import run

WEIGHT = 220_000


def pair():
    """Two runs: the second is shorter, begins slower, ends faster, and has its pause elsewhere."""
    first = workouts.run()
    second = workouts.run("other", seconds=3000, pause=(900, 40), name="Evening Run", startedAt=workouts.START - 86_400)
    deltas = second.series["d"]
    second.series["d"] = [round(delta * (0.9 + 0.25 * t / len(deltas)), 3) for t, delta in enumerate(deltas)]
    second.track["d"] = [round(value, 1) for value in metres_of(second)]
    second.record["distance"] = second.track["d"][-1]
    return first, second


def path_of(first, second):
    return f"/compare?a={first.user}/{first.session}&b={second.user}/{second.session}"


def play(world, *made):
    workouts.answer_chunks(world, *made)
    world.answers["workouts"] = {"workouts": [workout.overview() for workout in made]}
    world.publish([message for workout in made for message in workout.messages()])


def line(xs, ys, x):
    """The value between two points of a rising line."""
    index = bisect.bisect_right(xs, x)
    if index == len(xs):
        return ys[-1]
    part = (x - xs[index - 1]) / (xs[index] - xs[index - 1])
    return ys[index - 1] + part * (ys[index] - ys[index - 1])


def metres_of(workout):
    """Metres at each active second."""
    metres = []
    for delta in workout.series["d"]:
        metres.append((metres[-1] if metres else 0) + delta)
    return metres


def seconds_of(workout):
    """The active second of each item: what is between two segments does not count."""
    (start, end), (again, _) = workout.record["segments"]
    return [time - start if time <= end else time - again + end - start for time in workout.series["c"]]


def cells(page):
    return page.locator("#now-rows tr").evaluate_all(
        "rows => rows.map(row => ({texts: [...row.children].map(e => e.innerText), lead: Number(row.children[2].dataset.lead)}))"
    )


def place(page):
    return int(page.locator("#charts").get_attribute("aria-valuenow"))


def clock(seconds):
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


def open_pair(world, browser, faults, device=DESKTOP, user="anna"):
    first, second = pair()
    play(world, first, second)
    page = open_page(world, browser, faults, path_of(first, second), user, device)
    page.locator("#charts .chart canvas").first.wait_for()
    return page, first, second


def looks(world, browser, faults):
    """On a phone and a desktop, light and dark: weight, shifts, accessibility."""
    first, second = pair()
    play(world, first, second)
    messages = [*first.messages(), *second.messages()]

    def ready(page):
        page.locator("#charts .chart canvas").first.wait_for()
        page.locator("#map .map-mark.runner-1").last.wait_for()

    visit(world, browser, faults, "compare", path_of(first, second), "anna", messages, ready, WEIGHT, ["compare"])


def by_distance(world, browser, faults):
    """The lead in seconds at each distance, pace and heart rate there, and both on the map."""
    page, first, second = open_pair(world, browser, faults)
    charts = page.locator("#charts .chart").evaluate_all("all => all.map(e => e.dataset.chart)")
    faults.expect(charts == ["lead", "speed", "heartRate", "elevation"], f"charts: {charts}")
    metres = [metres_of(each) for each in (first, second)]
    times = [seconds_of(each) for each in (first, second)]
    # At first the cursor is where the shorter one ends.
    faults.expect(abs(place(page) - metres[1][-1]) <= 1, f"the cursor begins at {place(page)}, not {metres[1][-1]}")
    slider = page.get_by_role("slider", name="Cursor")
    slider.focus()
    page.keyboard.press("Home")
    spots = []
    for _ in range(6):
        page.keyboard.press("PageUp")
        at = metres[0][-1] * 0.1 * (len(spots) + 1)
        wanted = [line(metres[i], times[i], at) for i in (0, 1)]
        found = cells(page)
        lead = wanted[0] - wanted[1]
        faults.expect(abs(found[1]["lead"] - lead) < 0.1, f"at {at:.0f} m the lead is {found[1]['lead']}, not {lead}")
        for i in (0, 1):
            near = {clock(wanted[i] - 0.1), clock(wanted[i] + 0.1)}
            faults.expect(found[i]["texts"][1] in near, f"at {at:.0f} m after {found[i]['texts'][1]}, not {near}")
            rate = [first, second][i].series["h"]
            index = bisect.bisect(times[i], wanted[i])
            near = {f"{value} bpm" for value in rate[max(0, index - 2) : index + 2]}
            faults.expect(found[i]["texts"][4] in near, f"at {at:.0f} m {found[i]['texts'][4]}, not one of {near}")
        spots.append(page.locator("#map .map-mark.runner").evaluate_all("all => all.map(e => e.style.transform)"))
    readout = page.locator("#readout").inner_text()
    faults.expect(
        re.fullmatch(r"At \d\.\d\d km: B is (level with|\d+:\d\d ahead of|\d+:\d\d behind) A", readout),
        f"the cursor reads '{readout}'",
    )
    faults.expect(slider.get_attribute("aria-valuetext") == readout, "a screen reader is told something else")
    faults.expect(all(len(spot) == 2 for spot in spots), f"marks on the map: {spots}")
    faults.expect(len({spot[0] for spot in spots}) == 6, "the first one does not move on the map")
    # Beyond the end of the shorter one.
    page.keyboard.press("End")
    found = cells(page)
    faults.expect(found[1]["texts"][1].startswith("--"), f"beyond its end: {found[1]}")
    # By mouse.
    charts = page.locator("#charts")
    charts.hover(position={"x": charts.bounding_box()["width"] / 2, "y": 60})
    until(page, "x => Number(document.getElementById('charts').ariaValueNow) < x", metres[0][-1] * 0.6)
    totals = page.locator("#totals tr", has_text="Distance").locator("td").all_inner_texts()
    wanted = [f"{each.record['distance'] / 1000:.2f} km" for each in (first, second)]
    faults.expect(totals == wanted, f"totals: {totals}, not {wanted}")
    close_all(page.context)


def by_time(world, browser, faults):
    """The lead in metres at each time; imperial units; the names lead to the workouts."""
    page, first, second = open_pair(world, browser, faults, PHONE)
    page.get_by_label("Time", exact=True).check()
    page.get_by_role("slider", name="Cursor").focus()
    page.keyboard.press("Home")
    metres = [metres_of(each) for each in (first, second)]
    times = [seconds_of(each) for each in (first, second)]
    for step in range(1, 5):
        page.keyboard.press("PageUp")
        at = times[0][-1] * 0.1 * step
        wanted = [line(times[i], metres[i], at) for i in (0, 1)]
        found = cells(page)
        lead = wanted[1] - wanted[0]
        faults.expect(abs(found[1]["lead"] - lead) < 1, f"at {at:.0f} s the lead is {found[1]['lead']} m, not {lead}")
    text = page.locator("#readout").inner_text()
    faults.expect(re.fullmatch(r"At \d\d:\d\d: B is \d+ m (ahead of|behind) A", text), f"the cursor reads '{text}'")
    faults.look(page, "compare-time")
    page.locator("#menu summary").click()
    page.get_by_label("Imperial").check()
    page.keyboard.press("Escape")
    page.locator("#now-rows", has_text=" mi").wait_for()
    page.locator("#readout", has_text=" ft ").wait_for()
    page.get_by_role("link", name="Evening Run").click()
    page.wait_for_url(f"**{second.path}")
    close_all(page.context)


def ways(world, browser, faults):
    """From a workout to one of a similar distance."""
    first, second = pair()
    play(world, first, second)
    far = second.overview(session=workouts.session_of("far"), name="Far Run", distance=30_000)
    ride = second.overview(session=workouts.session_of("cycled"), name="Ride", activity="cycling")
    world.answers["workouts"] = {"workouts": [far, ride, first.overview(), second.overview()]}
    page = open_page(world, browser, faults, first.path, "anna", PHONE)
    page.get_by_role("button", name="Compare…").click()
    links = page.locator("#others a")
    links.first.wait_for()
    names = links.locator("strong").all_inner_texts()
    faults.expect(names == ["Evening Run", "Far Run"], f"offered are {names}")
    faults.look(page, "compare-choice")
    screenshot(page, "compare-choice")
    links.first.click()
    page.locator("#charts .chart canvas").first.wait_for()
    close_all(page.context)


def absent(world, browser, faults):
    """Without a choice, of a workout that is not there, and without details the page says what is wrong."""
    page = open_page(world, browser, faults, "/compare", "anna", PHONE)
    page.locator("#state", has_text="Open a workout from the history").wait_for()
    first, second = pair()
    play(world, first)
    world.answers["workouts"] = {"workouts": []}
    page.goto(world.url + path_of(first, second))
    page.locator("#state", has_text="Workout B does not exist").wait_for()
    faults.expect(not page.locator("#body").is_visible(), "half of a comparison is shown")
    # A workout of weights has nothing over a distance, and one without items has nothing at all.
    lifts, empty = workouts.strength(), workouts.empty()
    play(world, lifts, empty)
    page.goto(world.url + path_of(lifts, empty))
    page.locator("#state", has_text="Other: nothing was measured").wait_for()
    faults.expect(page.locator("#totals").is_visible(), "the totals are not side by side")
    page.goto(world.url + path_of(lifts, lifts))
    page.locator("#charts .chart canvas").first.wait_for()
    faults.expect(not page.locator("#axis-choice").is_visible(), "a distance is offered")
    page.goto(f"{world.url}/compare?run={fixtures.RUN}")
    world.answers["show"] = {"error": {"code": "run_not_found", "message": "no"}}
    page.locator("#state", has_text="There is no such run among yours.").wait_for()
    close_all(page.context)


def virtual_run(world, browser, faults):
    """All runners of a finished run, from its page: the gap at each kilometre is that of the splits."""
    details = fixtures.run_details()
    world.answers["routes"] = details
    world.publish(fixtures.run_scenes(fixtures.now())["run-results"])
    page = open_page(world, browser, faults, f"/virtual-runs/{fixtures.RUN}", "anna", PHONE)
    page.get_by_role("link", name="Compare").click()
    page.locator("#charts .chart canvas").first.wait_for()
    ben, anna = [runner["km"] for runner in details["splits"]]
    page.get_by_role("slider", name="Cursor").focus()
    page.keyboard.press("Home")
    end = 5010
    steps = 0
    for mark in (1, 2, 3, 4):
        while steps < round(mark * 200 * 1000 / end):
            page.keyboard.press("ArrowRight")
            steps += 1
        at = steps * end / 200
        xs = [1000 * n for n in range(6)]
        wanted = line(xs, [0, *ben], at) - line(xs, [0, *anna], at)
        found = cells(page)
        faults.expect(abs(found[1]["lead"] - wanted) < 0.1, f"at {at} m: {found[1]['lead']}, not {wanted}")
        faults.expect("ben" in found[0]["texts"][0] and "anna" in found[1]["texts"][0], f"runners: {found}")
    page.locator(".route-line.runner-1").first.wait_for(state="attached")
    faults.look(page, "compare-run")
    screenshot(page, "compare-run")
    close_all(page.context)


if __name__ == "__main__":
    run([looks, by_distance, by_time, ways, absent, virtual_run])
