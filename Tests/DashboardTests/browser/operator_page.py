"""The operator's page: stuck sessions first, the filter, and the order under a pointer."""

import fixtures
from browser import DESKTOP, Faults, chromium, close_all, until
from world import World

world = World()
faults = Faults(world)


def expect(condition, text):
    if not condition:
        faults.found.append(text)


def users(page):
    return page.locator("#rows a").all_inner_texts()


def age(page, user):
    return page.locator("#rows tr").filter(has_text=user).locator("small").nth(1).inner_text()


def report(user, number, when):
    """New items of a session."""
    value = fixtures.metrics(user, when, n=9000)
    world.publish([(fixtures.operator_topic(user, number, "metrics"), value), fixtures.heard(user, number, when)])


with chromium() as browser:
    context = world.context(browser, "_operator", **DESKTOP)
    page = context.new_page()
    faults.watch(page)
    world.reset()
    world.publish(fixtures.operator(fixtures.now()))
    world.set_online("weather-fetcher", False)
    page.goto(world.url)
    page.wait_for_url(f"{world.url}/operator")
    page.locator("main.drawn").wait_for()
    until(page, "() => document.querySelector('#headline').textContent.startsWith('3 sessions')")
    expect(
        page.locator("#headline").inner_text()
        == "3 sessions silent for over a minute; 1 session saving for over a minute; weather-fetcher offline.",
        f"the headline is {page.locator('#headline').inner_text()}",
    )
    expect(
        users(page)[:4] == ["runner-0009", "runner-0008", "runner-0011", "runner-0007"],
        f"the first are {users(page)[:4]}",
    )
    expect(len(users(page)) == 100, f"{len(users(page))} rows")
    expect(page.locator("#shown").inner_text() == "The first 100 of 130 sessions", page.locator("#shown").inner_text())
    expect(age(page, "runner-0009") == "2 d 4 h", f"the age is {age(page, 'runner-0009')}")
    rejected = page.locator("#rejected li").filter(has_text="bad_topic").first.inner_text()
    expect("\u202e" not in rejected and "…" in rejected, f"rejected: {rejected}")

    # The row of a session that is heard again moves, but not under the pointer.
    page.locator("html.ready").wait_for(state="attached")
    page.locator("#rows a").first.hover()
    until(page, "() => !document.querySelector('#held').hidden")
    report("runner-0009", 9, fixtures.now())
    until(page, "() => document.querySelector('#rows tr').dataset.signal === 'live'")
    expect(users(page)[0] == "runner-0009", "the row moved away under the pointer")
    page.mouse.move(2, 2)
    until(page, "() => document.querySelector('#rows a').textContent === 'runner-0008'")
    until(page, "() => document.querySelector('#headline').textContent.startsWith('2 sessions silent')")

    # The filter finds a session that the table does not show.
    expect("runner-0100" not in users(page), "the table shows what the filter is to find")
    page.get_by_label("Name").fill("NER-0100")
    until(page, "() => document.querySelectorAll('#rows tr').length === 1")
    expect(users(page) == ["runner-0100"] and page.url.endswith("?name=NER-0100"), f"{users(page)} on {page.url}")
    page.reload()
    # Until the page appears, its text is hidden.
    page.locator("main.drawn").wait_for()
    until(page, "() => document.querySelectorAll('#rows tr').length === 1")
    expect(users(page) == ["runner-0100"], "a reload loses the filter")
    page.get_by_label("Name").fill("")
    page.locator("select").select_option("suspended")
    until(page, "() => document.querySelectorAll('#rows tr').length === 7")
    expect("status=suspended" in page.url, f"the address is {page.url}")
    close_all(context)
faults.finish()
