"""Home without workouts, with one person and with twenty: order, filter, table, map, alerts, units and history."""

import os
import re
import time
import uuid

import fixtures
from browser import DESKTOP, TIMEOUT, PHONE, SMALL, Faults, chromium, close_all, screenshot, until
from world import World, wait

world = World()
faults = Faults(world)
is_thorough = "SCREENSHOTS" in os.environ
sizes = {"phone": PHONE, "desktop": DESKTOP, "small": SMALL} if is_thorough else {"phone": PHONE}
LIMIT = 60_000
SHIFTS = """
    window.shifts = [];
    window.moved = [];
    new PerformanceObserver(list => moved.push(...list.getEntries().map(e => e.value.toFixed(3) + ' ' + e.sources.map(s => s.node?.outerHTML?.slice(0, 60)))))
        .observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver(list => shifts.push(...list.getEntries().filter(e => !e.hadRecentInput).map(e => e.value)))
        .observe({ type: 'layout-shift', buffered: true });
    window.tones = 0;
    OscillatorNode.prototype.start = new Proxy(OscillatorNode.prototype.start, { apply(...all) { tones++; return Reflect.apply(...all); } });
"""
weights = []
finished = []


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def publish(messages):
    """All there is; finished workouts are in the answers of session-engine too."""
    world.reset()
    world.publish(messages)
    finished[:] = [payload for topic, payload in messages if topic.endswith("/workout")]

    def workouts(topic, press):
        users = topic.split("/")[3]
        own = [
            workout for workout in finished if workout["user"] == users and workout["startedAt"] >= press.get("from", 0)
        ]
        own = [workout for workout in own if workout["startedAt"] < press.get("before", {}).get("startedAt", 2e9)]
        own.sort(key=lambda workout: -workout["startedAt"])
        return {"workouts": own[: press.get("limit", 100)]}

    world.answers["workouts"] = workouts


def open_home(browser, login, messages, device=PHONE, url="/"):
    context = world.context(browser, login, **device, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(SHIFTS)
    faults.watch(page)
    requests = []
    page.on("requestfinished", lambda request: requests.append(request))
    publish(messages)
    page.goto(world.url + url)
    page.locator("main.drawn").wait_for()
    page.requests = requests
    return page


def weight(page):
    return sum(
        sum(request.sizes()[part] for part in ["responseBodySize", "responseHeadersSize"]) for request in page.requests
    )


def look(page, name):
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        screenshot(page, name + "-" + theme)
        faults.look(page, name + "-" + theme)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")


def names(page, selector=".card:visible .card-user"):
    return page.locator(selector).all_inner_texts()


def resume_texts(browser):
    """The button above all, in each case of `current`."""
    now = fixtures.now
    cases = [
        ("with a plan", {"progress": {"done": 3, "total": 6}}, {}, "Resume · 3/6 exercises"),
        ("without a plan", {}, {"d": 5249.0}, "Resume · 5.2 km"),
        ("all exercises done", {"progress": {"done": 6, "total": 6}}, {}, "Resume · 6/6 exercises"),
        ("suspended", {"status": "suspended"}, {"d": 5249.0}, "Resume · 5.2 km"),
        ("nothing covered yet", {}, {"d": 0}, "Resume"),
        ("no distance at all", {}, {"d": None}, "Resume"),
    ]
    for name, changes, values, text in cases:
        status = changes.get("status", "active")
        page = open_home(
            browser,
            "anna",
            [
                (fixtures.topic("anna", "state"), fixtures.state("anna", now(), status=status)),
                (fixtures.topic("anna", "metrics"), fixtures.metrics("anna", now(), **values)),
                ("pacebus/v1/u/anna/current", fixtures.current("anna", now(), **changes)),
            ],
        )
        until(page, "text => document.querySelector('#resume').innerText === text", text)
        expect(
            page.locator("#resume").get_attribute("href") == f"/live/anna/{fixtures.session_of('anna')}",
            f"{name}: Resume leads elsewhere",
        )
        box, other = page.locator("#resume").bounding_box(), page.locator("#start-new").bounding_box()
        expect(
            box["y"] < other["y"] and box["height"] > other["height"],
            f"{name}: Start new is not below Resume and smaller",
        )
        page.locator("#start-new").click()
        page.locator("#replace-warning", has_text="This will discard your current workout. Continue?").wait_for()
        page.locator("#start-dialog [data-close]").click()
        expect(world.sent() == [], f"{name}: Cancel started a workout")
        page.locator("#start-new").click()
        page.locator("#start-confirm", has_text="Discard and start").click()
        wait(world.sent, "a start")
        expect(world.sent()[0]["replace"] is True, f"{name}: the start replaces nothing")
        close_all(page.context)
    # A virtual run comes first while it lasts.
    run = "5d2c8f9a-0c0e-4a53-9d3b-0d7b6d2b7a11"
    page = open_home(
        browser,
        "anna",
        [
            (fixtures.topic("anna", "state"), fixtures.state("anna", now(), run=run)),
            (fixtures.topic("anna", "metrics"), fixtures.metrics("anna", now(), d=5249.0)),
            ("pacebus/v1/u/anna/current", fixtures.current("anna", now())),
        ],
    )
    first = page.locator(".start > :is(a, button):visible").first
    page.locator("#resume", has_text="Your virtual run · 5.2 km").wait_for()
    expect(first.get_attribute("href") == f"/virtual-runs/{run}", "the first button leads not to the virtual run")
    close_all(page.context)
    # Nothing is offered before the start, and nothing after the end.
    for name, value in {
        "preparing": fixtures.current("anna", now(), status="preparing", offersResume=False),
        "none": {"revision": int(now() * 1000), "session": None},
    }.items():
        page = open_home(browser, "anna", [("pacebus/v1/u/anna/current", value)])
        page.wait_for_timeout(300)
        expect(page.locator("#resume").is_hidden(), f"{name}: Resume is offered")
        close_all(page.context)


def empty(browser):
    for size, device in sizes.items():
        page = open_home(browser, "dora", [], device)
        page.locator("#connect[open] code", has_text="compose/user device add dora watch-1").wait_for()
        expect("127.0.0.1" not in page.locator("#connect").inner_text(), "a device is told to connect to itself")
        look(page, f"home-new-{size}")
        weights.append(("nobody", weight(page)))
        close_all(page.context)
        page = open_home(browser, "coach", [], device)
        page.locator("#empty", has_text="Nothing to see yet").wait_for()
        expect(page.locator("#connect, #start-new, .runs-link").count() == 0, "a viewer sees buttons of athletes")
        look(page, f"home-viewer-{size}")
        close_all(page.context)


def until_rated(page, user, text):
    """Sends a figure each second until the card shows the rate, as a device does: it lasts for 15 s, and a slow browser draws later."""
    deadline = time.monotonic() + TIMEOUT
    while not page.locator(".card [data-card='heartRate']", has_text=text).is_visible():
        if time.monotonic() > deadline:
            raise SystemExit(f"no heart rate: {page.locator('.card').inner_text()}")
        world.publish([(fixtures.topic(user, "metrics"), fixtures.metrics(user, fixtures.now(), n=int(time.time())))])
        page.wait_for_timeout(1000)


def one(browser):
    for size, device in sizes.items():
        now = fixtures.now()
        messages = [
            (fixtures.topic("ben", "state"), fixtures.state("ben", now)),
            (fixtures.topic("ben", "metrics"), fixtures.metrics("ben", now)),
            ("pacebus/v1/u/ben/current", fixtures.current("ben", now)),
            *fixtures.history("ben", now),
        ]
        page = open_home(browser, "ben", messages, device)
        until_rated(page, "ben", "142 bpm")
        expect(page.locator("#card-tools").is_hidden(), "one card has tools")
        expect(page.locator("#latest tr").count() == 5, "not five latest workouts")
        expect(
            page.locator("#week [data-key='count']").inner_text().split() == ["Workouts", "7"],
            "not seven workouts this week",
        )
        expect(
            page.locator("#latest tr").first.inner_text().startswith("Outdoor Running"),
            "the latest workout is not the first",
        )
        expect(page.locator("#latest a[href^='/workout/ben/']").count() == 5, "the latest workouts lead nowhere")
        for width in {device["viewport"]["width"], 320}:
            page.set_viewport_size({**device["viewport"], "width": width})
            labels = page.eval_on_selector_all("#week dt", "all => all.map(e => e.getBoundingClientRect().height)")
            expect(max(labels) < 30, f"{width}: a label of this week breaks: {labels}")
            wide = page.eval_on_selector_all(
                "main *",
                "(all, width) => all.filter(e => e.getBoundingClientRect().right > width).map(e => e.className)",
                width,
            )
            expect(wide == [], f"{width}: wider than the screen: {wide}")
        page.set_viewport_size(device["viewport"])
        look(page, f"home-one-{size}")
        weights.append(("one", weight(page)))
        if size == "phone":
            # Units change all numbers; the choice and the theme are remembered.
            page.locator("#menu summary").click()
            page.locator("[name='units'][value='imperial']").check()
            page.locator("[name='theme'][value='dark']").check()
            page.locator("#latest td", has_text="3.24 mi").first.wait_for()
            page.locator(".card [data-card='distance']", has_text="5.16 mi").wait_for()
            page.reload()
            page.locator("#latest td", has_text="3.24 mi").first.wait_for()
            expect(page.locator("#week [data-key='distance']").inner_text().endswith("mi"), "the week is metric")
            expect(page.evaluate("document.documentElement.dataset.theme") == "dark", "the theme is forgotten")
            # A workout that ends, and a discarded one, which can be recovered.
            topic, evening = fixtures.workout("ben", f"{uuid.uuid4()}", fixtures.now(), name="Evening Run")
            finished.append(evening)
            over = {"revision": int(fixtures.now() * 1000), "session": None}
            state = fixtures.state("ben", fixtures.now() + 1, status="canceled", endReason="discarded")
            world.publish([("pacebus/v1/u/ben/current", over), (fixtures.topic("ben", "state"), state)])
            page.locator("#latest tr", has_text="Evening Run").wait_for()
            page.locator("#canceled a", has_text="Outdoor Running was discarded · Recover").wait_for()
            look(page, "home-canceled-phone")
            page.locator("#canceled a").click()
            page.locator("#recover").wait_for()
        close_all(page.context)


def past(browser):
    """A row of the latest workouts, when the session's own topics are forgotten."""
    page = open_home(
        browser,
        "paul",
        [
            fixtures.workout(
                "paul",
                f"{uuid.uuid4()}",
                1_763_448_000,
                startedAt=1_763_445_600,
                activeDuration=2400,
                timeZone="Europe/Berlin",
            )
        ],
    )
    page.locator("#latest a").first.click()
    page.wait_for_url("**/workout/paul/**")
    page.locator("h1", has_text="Outdoor Running").wait_for()
    page.locator("#date", has_text=re.compile("18.*2025.*7:00")).wait_for()
    page.locator("#top", has_text="5.21").wait_for()
    page.locator("main.drawn").wait_for()
    page.locator("#menu summary").click()
    page.locator("[name='units'][value='imperial']").check()
    page.locator("#top", has_text="3.24").wait_for()
    page.keyboard.press("Escape")
    look(page, "workout-past-phone")
    close_all(page.context)


def order(browser):
    page = open_home(browser, "trainer", fixtures.twenty(fixtures.now()))
    expected = ["runner-03", "runner-18", "runner-04", "runner-09"]
    until(
        page,
        "all => [...document.querySelectorAll('.card-user')].slice(0, 4).map(e => e.innerText).join() === all.join()",
        expected,
    )
    shown = names(page)
    expect(len(shown) == 20 and shown[-2:] == ["runner-06", "runner-20"], f"the order is {shown}")
    page.locator("#summary", has_text="2 silent · 2 paused · 14 live · 2 finished today").wait_for()
    page.locator(".card[data-user='runner-07'] [data-card='battery']", has_text="Battery 15 %").wait_for()
    page.locator(".card[data-user='runner-06'] [data-card='distance']", has_text="5.21 km").wait_for()

    # An update that changes the order moves nothing before a press.
    page.wait_for_timeout(3200)
    world.publish(
        [
            (
                fixtures.topic("runner-01", "state"),
                fixtures.state(
                    "runner-01", fixtures.now() + 1, status="paused", segments=[[fixtures.now() - 900, fixtures.now()]]
                ),
            )
        ]
    )
    page.locator(".card[data-user='runner-01'] [data-card='status']", has_text="Paused").wait_for()
    expect(names(page) == shown, "an update moved a card")
    page.locator("#sort.due").wait_for()
    page.locator("#sort").click()
    expect(names(page)[2] == "runner-01", f"sorted again: {names(page)}")
    page.locator("#sort:not(.due)").wait_for()

    # Twenty people update: nothing moves.
    page.evaluate("shifts.length = 0")
    base = fixtures.now()
    for second in range(4):
        at = base + second * 0.3
        world.publish(
            [fixtures.runner_metrics(number, at, second * 3.0) for number in range(20) if number not in (2, 5, 17, 19)]
        )
        page.wait_for_timeout(300)
    shift = page.evaluate("shifts.reduce((sum, value) => sum + value, 0)")
    expect(shift < 0.05, f"twenty people shift the layout by {shift:.3f}")
    print(f"layout shift while twenty people update: {shift:.4f}")

    # The filter, by name.
    page.locator("#filter").fill("runner-1")
    expect(len(names(page)) == 10, f"the filter shows {names(page)}")
    page.locator("#filter").fill("nobody")
    expect(names(page) == [], "the filter shows others")
    page.locator("#filter").fill("")
    close_all(page.context)


def views(browser):
    for size, device in sizes.items():
        now = fixtures.now()
        page = open_home(browser, "trainer", [*fixtures.twenty(now), *fixtures.history("runner-01", now)], device)
        page.locator(".card[data-user='runner-01'] [data-card='distance']", has_text="2.00 km").wait_for()
        page.locator("#recent-title", has_text="This week of 20 people").wait_for()
        loaded = weight(page)
        weights.append((f"twenty, {size}", loaded))
        expect(not any("leaflet" in request.url for request in page.requests), "Leaflet is loaded without a map")
        look(page, f"home-twenty-{size}")
        page.locator("[name='view'][value='table']").check()
        page.locator("#rows tr").nth(19).wait_for()
        expect(page.locator(".card:visible").count() == 0, "cards beside the table")
        expect(names(page, "#rows tr:visible th a")[:2] == ["runner-03", "runner-18"], "the table has another order")
        look(page, f"home-table-{size}")
        page.locator("#map-toggle").click()
        page.locator(".person-name:visible").nth(2).wait_for()
        until(page, "() => document.querySelector('#scale span').textContent !== ''")
        overlaps = page.evaluate("""() => {
            const all = [...document.querySelectorAll('.person-name')].filter(e => !e.hidden).map(e => e.getBoundingClientRect());
            const box = document.querySelector('#map').getBoundingClientRect();
            const outside = all.filter(a => a.left < box.left - 1 || a.right > box.right + 1 || a.top < box.top - 1 || a.bottom > box.bottom + 1).length;
            return outside + all.filter((a, i) => all.some((b, j) => j > i && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
        }""")
        expect(overlaps == 0, f"{size}: {overlaps} names on the map cover others or leave it")
        people = page.evaluate(
            "[...document.querySelectorAll('.person-dot')].reduce((sum, e) => sum + Number(e.innerText || 1), 0)"
        )
        expect(people == 18, f"the map shows {people} people")
        look(page, f"home-map-{size}")
        # A mark of several people names them all, and a press zooms in on them.
        group = page.locator("button.person-dot").first
        names_of_group = group.get_attribute("title").split(", ")
        expect(len(names_of_group) == int(group.inner_text()), f"{names_of_group} are not all of a mark")
        expect(
            any(
                "(no signal)" in title
                for title in page.eval_on_selector_all("button.person-dot.silent", "all => all.map(e => e.title)")
            ),
            "no mark names a silent person",
        )
        scale = page.locator("#scale").inner_text()
        group.click()
        until(page, "scale => document.querySelector('#scale').innerText !== scale", scale)
        page.locator("#recenter").click()
        # The choices outlast a reload, and nothing moves for them.
        page.reload()
        page.locator(".person-name:visible").first.wait_for()
        expect(
            page.locator("#rows tr").count() == 20 and page.locator("[name='view'][value='table']").is_checked(),
            "the table is forgotten",
        )
        shift = page.evaluate("shifts.reduce((sum, value) => sum + value, 0)")
        expect(shift < 0.05, f"{size}: loading shifts the layout by {shift:.3f}: {page.evaluate('moved')}")
        print(f"{size}: layout shift of loading with table and map: {shift:.4f}")
        # A name leads to the person's page, also by keyboard.
        link = page.locator("a.person-name:visible").first
        name = link.inner_text()
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/live/{name}/*")
        page.locator("html.ready").wait_for(state="attached")
        close_all(page.context)


def sounds(browser):
    page = open_home(browser, "trainer", fixtures.twenty(fixtures.now()))
    page.locator(".card[data-user='runner-01'] [data-card='distance']", has_text="2.00 km").wait_for()
    until(page, "() => document.querySelector('#alerts-text').innerText === 'Alerts'")
    expect(page.locator("[name='alert']:checked").count() == 0, "an alert is on by default")
    page.locator("#alerts summary").click()
    page.locator("#alerts", has_text="It sounds only while this page is open on the screen.").wait_for()
    page.get_by_label("Low battery").check()
    look(page, "home-alerts-phone")
    page.keyboard.press("Escape")
    until(page, "() => document.querySelector('#alerts-text').innerText === 'Alerts on'")
    page.wait_for_timeout(3500)
    expect(page.evaluate("tones") == 0, "what was shown at first sounds")
    # A weak battery is no news after silence, and a slow browser may be here after a minute.
    topic, payload = fixtures.runner_metrics(0, fixtures.now())
    world.publish([(topic, {**payload, "d": 2010.0})])
    page.locator(".card[data-user='runner-01'] [data-card='distance']", has_text="2.01 km").wait_for()
    world.publish(
        [
            (
                fixtures.topic("runner-01", "metrics"),
                fixtures.metrics(
                    "runner-01", fixtures.now(), n=10**10, ds={"watch-1": {"c": fixtures.now(), "b": 0.19}}
                ),
            )
        ]
    )
    until(page, "() => tones === 2")
    expect("runner-01: low battery" in page.locator("#announce").inner_text(), "the alert is not announced")
    # A silence does not sound: that is not chosen.
    world.publish(
        [
            (
                fixtures.topic("runner-02", "state"),
                fixtures.state("runner-02", fixtures.now() + 2, clockSkew={}, segments=[[fixtures.now() - 900, None]]),
            )
        ]
    )
    page.wait_for_timeout(1200)
    expect(page.evaluate("tones") == 2, "a silence sounds")
    page.reload()
    page.locator(".card[data-user='runner-01'] [data-card='battery']", has_text="Battery 19 %").wait_for()
    expect(
        page.locator("[name='alert'][value='battery']").is_checked()
        and not page.locator("[name='alert'][value='silent']").is_checked(),
        "the choice is forgotten",
    )
    close_all(page.context)


with chromium() as browser:
    resume_texts(browser)
    empty(browser)
    one(browser)
    past(browser)
    order(browser)
    views(browser)
    sounds(browser)
for name, value in weights:
    expect(value < LIMIT, f"Home with {name} loads {value} bytes, more than {LIMIT}")
print(", ".join(f"Home with {name}: {value} bytes" for name, value in weights))
faults.finish()
