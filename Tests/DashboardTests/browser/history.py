"""The page of the history: its copy, its filters, weeks, load, calendar and records, and what others may see of it."""

import datetime
import re
import time
from zoneinfo import ZoneInfo

import histories
from browser import DESKTOP, PHONE, close_all, open_page, screenshot, until, visit
from world import run

WEIGHT = 200_000
# The copy of a page lasts a second at most until it is drawn.
FILTER = """async value => {
    const field = document.querySelector('#filters input');
    await new Promise(requestAnimationFrame);
    const begun = performance.now();
    field.value = value;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    // What the browser lays out for it.
    document.body.getBoundingClientRect();
    return performance.now() - begun;
}"""


def open_history(world, browser, faults, engine, user="anna", path="/history", device=DESKTOP):
    world.answers["workouts"] = engine.answer
    page = open_page(world, browser, faults, path, user, device)
    page.locator("main.drawn").wait_for()
    return page


def rows(page):
    return page.locator("#list .workout-row")


def sum_of(page):
    return page.locator("#sum").inner_text()


def has_sum(page, text):
    page.locator("#sum", has_text=text).wait_for()


def today():
    return datetime.datetime.now(ZoneInfo(histories.ZONE)).date()


def looks(world, browser, faults):
    """On a phone and a desktop, light and dark: weight, shifts, accessibility."""
    engine = histories.Engine(histories.years(400, time.time()))
    world.answers["workouts"] = engine.answer
    visit(
        world,
        browser,
        faults,
        "history",
        "/history",
        "anna",
        [],
        lambda page: has_sum(page, "400 workouts"),
        WEIGHT,
        ["history"],
    )


def copy(world, browser, faults):
    """The first load reads all, the next ones what has changed: updates, deletions, a reset."""
    now = time.time()
    engine = histories.Engine(histories.years(350, now))
    page = open_history(world, browser, faults, engine)
    has_sum(page, "350 workouts")
    faults.expect(len(engine.cursors) == 4 and engine.cursors[0] == 0, f"the first load asked {engine.cursors}")
    newest = max(engine.workouts.values(), key=lambda each: each["startedAt"])
    gone = sorted(engine.workouts.values(), key=lambda each: each["startedAt"])[-2]
    engine.change(newest["session"], name="Renamed Running")
    engine.delete(gone["session"])
    before = len(engine.cursors)
    page.reload()
    page.locator(".workout-row", has_text="Renamed Running").first.wait_for()
    has_sum(page, "349 workouts")
    faults.expect(page.locator(f"[href$='{gone['session']}']").count() == 0, "a deleted workout is still there")
    faults.expect(
        all(isinstance(cursor, int) and cursor > 0 for cursor in engine.cursors[before:]),
        f"asked {engine.cursors[before:]}",
    )
    faults.expect(len(engine.cursors) - before <= 2, f"a visit asked {len(engine.cursors) - before} times")
    # A restored backup is older than the cursor.
    engine.latest = 1200
    engine.workouts = {session: each for session, each in engine.workouts.items() if each["changed"] <= 1200}
    count = len(engine.workouts)
    page.reload()
    has_sum(page, f"{count} workouts")
    engine.forget()
    page.reload()
    page.locator("#empty", has_text="No workout yet").wait_for()
    close_all(page.context)


def news(world, browser, faults):
    """A workout that ends while the page is open appears; a second tab follows, and neither brings back what was deleted."""
    now = time.time()
    engine = histories.Engine(histories.years(150, now))
    page = open_history(world, browser, faults, engine)
    has_sum(page, "150 workouts")
    other = page.context.new_page()
    faults.watch(other)
    other.goto(world.url + "/history")
    has_sum(other, "150 workouts")
    gone = next(iter(engine.workouts))
    engine.delete(gone)
    fresh = {**next(iter(engine.workouts.values())), "session": "0b9f6d1e-1f1a-4c58-9a55-000000000001"}
    engine.change(**{**fresh, "name": "Fresh Running", "startedAt": now - 60})
    world.publish([("pacebus/v1/u/anna/current", {"revision": int(now * 1000), "session": None})])
    world.publish([("pacebus/v1/u/anna/current", {"revision": int(now * 1000) + 1, "session": None})])
    for each in (page, other):
        each.locator(".workout-row", has_text="Fresh Running").first.wait_for()
        has_sum(each, "150 workouts")
    for each in (page, other):
        each.reload()
        has_sum(each, "150 workouts")
        faults.expect(
            each.locator(".workout-row", has_text="Fresh Running").count() == 1, "two tabs keep different copies"
        )
    close_all(page.context)


def filters(world, browser, faults):
    """5,000 workouts: below 100 ms a filter; activity, year, and text in name and note."""
    now = time.time()
    made = histories.years(5000, now)
    made[4200]["note"] = "Windy, with Ben at the lake"
    engine = histories.Engine(made)
    begun = time.monotonic()
    page = open_history(world, browser, faults, engine)
    page.locator("#sum", has_text="5,000 workouts").wait_for()
    print(f"5,000 workouts from the engine: {time.monotonic() - begun:.1f} s")
    page.reload()
    has_sum(page, "5,000 workouts")
    print(f"from the copy: {page.evaluate('performance.now()'):.0f} ms after the reload")
    times = sorted(
        page.evaluate(FILTER, text)
        for text in ["r", "ru", "run", "runn", "", "pool", "x", "cycl", "", "hiking", "lake"]
    )
    print(f"a filter: {times[len(times) // 2]:.0f} ms, at most {times[-1]:.0f} ms")
    has_sum(page, "1 workout ·")
    faults.expect(
        rows(page).count() == 1 and made[4200]["session"] in rows(page).first.inner_html(), "the note is not found"
    )
    page.get_by_role("button", name="Show all").click()
    has_sum(page, "5,000 workouts")
    faults.expect(rows(page).count() == 50, f"{rows(page).count()} rows at first")
    page.get_by_role("button", name="Show more").click()
    faults.expect(rows(page).count() == 100, f"{rows(page).count()} rows after more")
    faults.expect(
        page.evaluate("document.activeElement.closest('.workout-row') !== null"),
        "the focus is not at the first new row",
    )
    rides = [workout for workout in made if workout["activity"] == "cycling"]
    page.get_by_label("Cycling").check()
    has_sum(page, f"{len(rides):,} workouts")
    year = today().year - 1
    page.get_by_label("Year", exact=True).select_option(str(year))
    count = sum(
        datetime.datetime.fromtimestamp(each["startedAt"], ZoneInfo(histories.ZONE)).year == year for each in rides
    )
    has_sum(page, f"{count} workouts")
    close_all(page.context)


def figures(world, browser, faults):
    """Load, weeks and records against values computed here."""
    now = time.time()
    made = histories.years(300, now)
    # Days are those of the person's zone, wherever the browser is.
    world.publish([("pacebus/v1/u/anna/profile", {"revision": 1, "timeZone": histories.ZONE})])
    page = open_history(world, browser, faults, histories.Engine(made))
    has_sum(page, "300 workouts")
    for key in ("heartRate", "stress"):
        wanted = histories.load_lines(made, key, today())
        found = page.locator(f".load[data-series='{key}'] dd").evaluate_all(
            "all => all.map(e => Number(e.dataset.value))"
        )
        faults.expect(
            len(found) == 3 and all(abs(a - b) < 0.01 for a, b in zip(found, wanted)), f"{key}: {found}, not {wanted}"
        )
    monday = today() - datetime.timedelta(days=today().weekday())
    weeks = []
    for index in range(12):
        first = monday - datetime.timedelta(weeks=11 - index)
        weeks.append(
            sum(
                first
                <= datetime.datetime.fromtimestamp(each["startedAt"], ZoneInfo(histories.ZONE)).date()
                < first + datetime.timedelta(weeks=1)
                for each in made
            )
        )
    shown = page.locator("#weeks li").evaluate_all("all => all.map(e => Number(/: (\\d+) workout/.exec(e.title)[1]))")
    faults.expect(shown == weeks, f"weeks: {shown}, not {weeks}")
    runs = [each for each in made if each["activity"] in ("running", "hiking")]
    fastest = min(
        (best["s"], each["session"]) for each in runs for best in each["bests"].get("distance", []) if best["m"] == 5000
    )
    link = page.locator(".record-group", has_text="On foot").get_by_role("link").filter(has_text=re.compile("^5 km"))
    minutes = f"{int(fastest[0] // 60)}:{int(fastest[0] % 60):02}"
    faults.expect(
        fastest[1] in link.get_attribute("href") and minutes in link.inner_text(),
        f"5 km: {link.inner_text()}, not {fastest}",
    )
    squat = max(
        (best["weight"], best["repetitions"])
        for each in made
        for best in each.get("bests", {}).get("sets", [])
        if best["exercise"] == "Back Squat"
    )
    text = page.locator(".record-group", has_text="Strength").get_by_role("link", name="Back Squat").inner_text()
    faults.expect(f"{squat[1]} × {squat[0]:g} kg" in text, f"Back Squat: {text}, not {squat}")
    close_all(page.context)


def calendar(world, browser, faults):
    """A square a day: by keys alone, and a day shows its workouts."""
    now = time.time()
    made = histories.years(600, now)
    page = open_history(world, browser, faults, histories.Engine(made))
    has_sum(page, "600 workouts")
    zone = ZoneInfo(histories.ZONE)
    days = [datetime.datetime.fromtimestamp(each["startedAt"], zone).date() for each in made]
    year = today().year - 1
    page.get_by_role("button", name="Year before").click()
    page.locator("#calendar-year", has_text=str(year)).wait_for()
    filled = page.locator("#months .day:not(.level-0)").count()
    faults.expect(filled == len({day for day in days if day.year == year}), f"{filled} days of {year} have workouts")
    faults.expect(
        page.locator("#months [tabindex='0']").count() == 1, "the calendar has more than one stop for the tabulator"
    )
    page.locator("#months [tabindex='0']").focus()
    page.keyboard.press("Home")
    first = min(day for day in days if day.year == year)
    for _ in range((first - datetime.date(year, 1, 1)).days):
        page.keyboard.press("ArrowRight")
    text = page.evaluate("document.activeElement.textContent")
    faults.expect(text.startswith(f"{first.day} {first:%B}: "), f"the arrow keys lead to {text}, not {first}")
    page.keyboard.press("Enter")
    count = days.count(first)
    has_sum(page, f"{count} workout")
    faults.expect(rows(page).count() == count, f"{rows(page).count()} rows of a day with {count}")
    faults.expect(page.locator("#months [aria-selected='true']").count() == 1, "the day is not selected")
    page.keyboard.press("Enter")
    has_sum(page, "600 workouts")
    page.locator("#activities").get_by_label("Cycling", exact=True).check()
    page.locator('.workout-row[data-activity="cycling"]').first.wait_for()
    paints = page.evaluate("""() => [['.months', '--accent'], ['.weeks', '--accent'],
        ['.workout-row[data-activity="cycling"]', '--route']].map(([selector, token]) => {
            const probe = document.querySelector(selector).appendChild(document.createElement('i'));
            probe.style.color = `var(${token})`;
            const {color} = getComputedStyle(probe);
            probe.remove();
            return color;
        })""")
    faults.expect(len(set(paints)) == 1, f"days, bars and rows of rides have {paints}")
    close_all(page.context)


def away(world, browser, faults):
    """Without the broker the last copy is shown, with its age; without a database the page works all the same."""
    now = time.time()
    engine = histories.Engine(histories.years(60, now))
    page = open_history(world, browser, faults, engine)
    has_sum(page, "60 workouts")
    faults.expect(page.locator("#as-of").inner_text() == "", "a fresh copy says how old it is")
    world.broker.freeze()
    page.reload()
    has_sum(page, "60 workouts")
    page.locator("#as-of", has_text="As of").wait_for()
    screenshot(page, "history-away")
    world.broker.thaw()
    page.locator("#as-of", has_text="As of").wait_for(state="detached")
    close_all(page.context)

    page = open_page(world, browser, faults, None, "anna", DESKTOP)
    page.add_init_script(
        "Object.defineProperty(window, 'indexedDB', {value: {open() { throw new Error('blocked'); }, deleteDatabase() {}}})"
    )
    page.goto(world.url + "/history")
    has_sum(page, "60 workouts")
    close_all(page.context)


def old_copy(world, browser, faults):
    """A copy of a newer format is dropped."""
    now = time.time()
    engine = histories.Engine(histories.years(120, now))
    page = open_page(world, browser, faults, "/login", "anna", DESKTOP)
    page.evaluate("""() => new Promise(done => {
        const request = indexedDB.open('pacebus.history.anna', 99);
        request.onupgradeneeded = () => request.result.createObjectStore('others');
        request.onsuccess = () => { request.result.close(); done(); };
    })""")
    world.answers["workouts"] = engine.answer
    page.goto(world.url + "/history")
    has_sum(page, "120 workouts")
    version = page.evaluate(
        "async () => (await indexedDB.databases()).find(({name}) => name === 'pacebus.history.anna').version"
    )
    faults.expect(version == 1, f"the copy has version {version}")
    close_all(page.context)


def leaving(world, browser, faults):
    """Logging out removes the copy."""
    engine = histories.Engine(histories.years(30, time.time()))
    page = open_history(world, browser, faults, engine)
    has_sum(page, "30 workouts")
    until(page, "async () => (await indexedDB.databases()).some(({name}) => name === 'pacebus.history.anna')")
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    page.wait_for_url("**/login")
    until(page, "async () => !(await indexedDB.databases()).some(({name}) => name.startsWith('pacebus.history'))")
    close_all(page.context)


def viewer(world, browser, faults):
    """A viewer sees the history of those whom the account may view, and of nobody else."""
    ben, carla = (
        histories.Engine(histories.years(20, time.time(), 3)),
        histories.Engine(histories.years(25, time.time(), 4)),
    )
    engines = {"ben": ben, "carla": carla}
    world.answers["workouts"] = lambda topic, press: (
        engines[user].answer(topic, press) if (user := topic.split("/")[3]) in engines else {"workouts": []}
    )
    page = open_page(world, browser, faults, "/history?user=ben", "coach", PHONE)
    page.locator("main.drawn").wait_for()
    has_sum(page, "20 workouts")
    faults.expect(page.locator("h1").inner_text() == "History of ben", page.locator("h1").inner_text())
    href = page.locator(".workout-row a").first.get_attribute("href")
    faults.expect(href.startswith("/workout/ben/"), f"a row leads to {href}")
    page.get_by_label("Person").select_option("carla")
    has_sum(page, "25 workouts")
    faults.expect(page.url.endswith("?user=carla"), page.url)
    page.goto(world.url + "/history?user=cleo")
    page.locator("#empty", has_text="You may not see").wait_for()
    faults.expect(not page.locator("#all").is_visible(), "someone else's history is shown")
    close_all(page.context)


def words(world, browser, faults):
    """Units, a 12-hour clock where people have it, links that lead somewhere, and the way from Home."""
    engine = histories.Engine(histories.years(40, time.time()))
    page = open_history(world, browser, faults, engine, device=PHONE)
    has_sum(page, "40 workouts")
    faults.expect(
        re.search(r"\d (am|pm)", rows(page).first.inner_text()), f"an American reads {rows(page).first.inner_text()}"
    )
    page.locator("#menu summary").click()
    page.get_by_label("Imperial").check()
    page.keyboard.press("Escape")
    page.locator("#list", has_text=" mi").wait_for()
    dead = page.evaluate("""async () => {
        const paths = new Set([...document.querySelectorAll('a[href^="/"]')].map(({pathname}) => pathname));
        const answers = await Promise.all([...paths].map(async path => [path, (await fetch(path)).status]));
        return answers.filter(([, status]) => status !== 200).map(([path]) => path);
    }""")
    faults.expect(dead == [], f"links lead nowhere: {dead}")
    page.goto(world.url)
    page.locator("#latest a").first.wait_for()
    faults.expect(
        page.locator("#latest a").first.get_attribute("href").startswith("/workout/anna/"), "Home leads elsewhere"
    )
    page.locator("#latest-box").get_by_role("link", name="History").click()
    has_sum(page, "40 workouts")
    close_all(page.context)


if __name__ == "__main__":
    run([looks, copy, news, filters, figures, calendar, away, old_copy, leaving, viewer, words])
