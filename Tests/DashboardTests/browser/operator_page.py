"""The operator's page: stuck sessions first, the filter, the order under a pointer, and the page without scripts: operator_page.py URL."""

import sys

import fixtures
from browser import DESKTOP, Faults, Server, chromium, until

server = Server(sys.argv[1])
faults = Faults(server)


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
    server.publish([(fixtures.operator_topic(user, number, "metrics"), value)])


with chromium() as browser:
    context = browser.new_context(**DESKTOP, extra_http_headers={"Test-Login": "_operator"})
    page = context.new_page()
    faults.watch(page)
    server.reset()
    server.publish(fixtures.operator(fixtures.now()))
    page.goto(server.url)
    expect(page.url == f"{server.url}/operator", f"the operator's home is {page.url}")
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
    expect("\n43" in page.locator("#figures div").filter(has_text="In queues").inner_text(), "messages in queues")

    # The row of a session that is heard again moves, but not under the pointer.
    page.locator("html.ready").wait_for(state="attached")
    page.locator("#rows a").first.hover()
    until(page, "() => !document.querySelector('#held').hidden")
    report("runner-0009", 9, fixtures.now())
    until(page, "() => document.querySelector('#rows tr').className === 'gone'")
    expect(users(page)[0] == "runner-0009", "the row moved away under the pointer")
    page.mouse.move(2, 2)
    until(page, "() => document.querySelector('#rows a').textContent === 'runner-0008'")
    until(page, "() => document.querySelector('#headline').textContent.startsWith('2 sessions silent')")

    # The server filters, so that it finds a session that the table does not show.
    expect("runner-0100" not in users(page), "the table shows what the filter is to find")
    page.get_by_label("Name").fill("NER-0100")
    until(page, "() => document.querySelectorAll('#rows tr').length === 1")
    expect(users(page) == ["runner-0100"] and page.url.endswith("?name=NER-0100"), f"{users(page)} on {page.url}")
    page.reload()
    expect(users(page) == ["runner-0100"], "a reload loses the filter")
    page.get_by_label("Name").fill("")
    page.locator("select").select_option("suspended")
    until(page, "() => document.querySelectorAll('#rows tr').length === 7")
    expect("status=suspended" in page.url, f"the address is {page.url}")
    context.close()

    context = browser.new_context(**DESKTOP, java_script_enabled=False, extra_http_headers={"Test-Login": "_operator"})
    page = context.new_page()
    page.goto(server.url + "/operator")
    expect("Reload for newer values" in page.locator("main").inner_text(), "no word about the time of the values")
    expect(page.locator("#as-of").inner_text().endswith(" UTC"), "no time of the values")
    page.get_by_label("Name").fill("0100")
    page.locator("select").select_option("paused")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**/operator?name=0100&status=paused")
    expect(users(page) == ["runner-0100"], f"without scripts: {users(page)}")
faults.finish()
