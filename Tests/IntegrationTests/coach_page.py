"""Home of a coach in Chromium while users are added and removed: coach_page.py URL, in the folder of an installation, the
coach's password on standard input. anna, ben, cara, dan and eve run; the coach views the first three.
"""

import subprocess
import sys

from playwright.sync_api import sync_playwright

url = sys.argv[1]
password = sys.stdin.readline().strip()
CARDS = "[...document.querySelectorAll('#cards .card')].filter(e => !e.hidden).map(e => e.querySelector('.card-user').textContent).sort().join()"
# A mark of one has the name beside it, a mark of several has all names as its label.
MARKS = """[...document.querySelectorAll('.person')].flatMap(mark => (mark.querySelector('.person-dot').getAttribute('aria-label')
    ?? mark.querySelector('.person-name').textContent).replaceAll(' (no signal)', '').split(', ')).sort().join()"""


def accounts(*arguments):
    subprocess.run(["compose/user", *arguments], check=True)


def shows(page, names):
    """Waits for the cards and the map of exactly these users."""
    for expression in (CARDS, MARKS):
        try:
            page.wait_for_function(f"names => {expression} === names", arg=names, timeout=30000)
        except Exception:
            raise SystemExit(
                f"expected {names}, found {page.evaluate(expression)}: {page.locator('main').inner_text()}"
            )
    print(names, "|", page.locator("#recent-title").inner_text(), "|", page.locator("#idle").inner_text())


with sync_playwright() as playwright:
    # Chromium refuses its sandbox to root; the page is ours.
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
    page = browser.new_page()
    page.on("pageerror", lambda error: print("error", error))
    # All that the page receives from the bus.
    received = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(bytes(frame))))
    page.goto(url)
    page.get_by_label("Name").fill("coach")
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    page.locator("#cards .card").first.wait_for(timeout=30000)
    if page.locator("#start-new").is_visible():
        raise SystemExit("a viewer can start a workout")
    page.evaluate("window.isSamePage = true")
    page.locator("#map-toggle").click()
    shows(page, "anna,ben,cara")
    gone = page.locator(".card", has_text="anna").locator("a").get_attribute("href")

    accounts("viewer", "add", "coach", "dan")
    shows(page, "anna,ben,cara,dan")
    accounts("viewer", "remove", "coach", "anna")
    shows(page, "ben,cara,dan")
    count = len(received)
    page.wait_for_function(
        "() => { window.since ??= performance.now(); return performance.now() - window.since > 3000 }"
    )
    late = [text for text in received[count:] if b"anna" in text]
    if late or not received[count:]:
        raise SystemExit(f"{len(received) - count} frames since, of anna: {late}")
    if any(b'"eve"' in text for text in received):
        raise SystemExit("the coach's browser receives a stranger's messages")
    accounts("remove", "ben")
    shows(page, "cara,dan")
    if not page.evaluate("window.isSamePage"):
        raise SystemExit("the page was loaded again")
    page.goto(url + gone)
    page.get_by_text("does not exist").wait_for(timeout=30000)
    page.goto(url)
    shows(page, "cara,dan")
    accounts("remove", "coach")
    page.locator("h1", has_text="Log in").wait_for(timeout=30000)
    print("Log in")
