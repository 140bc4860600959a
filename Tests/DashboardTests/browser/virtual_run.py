"""Two browsers and two simulated runners in a virtual run, from the invitation to the results, with a real broker and real
services. The environment is as for the world.
"""

import re
import signal

from browser import DESKTOP, PHONE, Faults, chromium, screenshot
from system import System

SERVICES = ["session-engine", "metrics-aggregator", "route-builder", "virtual-run"]
PEOPLE = ["anna", "ben"]


def both_look(pages, faults, name):
    for user, page in pages.items():
        screenshot(page, f"virtual-run-{name}-{user}")
        faults.look(page, f"{name} of {user}")


def invite(host, guest, *choices):
    """The host invites the guest, and waits on the run's page. Returns the run."""
    host.locator("#invite").click()
    host.locator("#invite-form [name=people]").fill(guest)
    for choose in choices:
        choose(host)
    host.locator("#invite-form .primary").click()
    host.wait_for_url(re.compile("/virtual-runs/[0-9a-f-]{36}$"))
    host.locator("#ready-text", has_text=f"Waiting for {guest} to answer").wait_for()
    return host.url.rsplit("/", 1)[1]


def press(page, name, within="#ready"):
    page.locator(within).get_by_role("button", name=name, exact=True).click()


def open_all(system, browser, faults):
    pages = {}
    for user, device in zip(PEOPLE, [PHONE, DESKTOP]):
        context = browser.new_context(**device, reduced_motion="reduce")
        system.log_in(context, user)
        pages[user] = context.new_page()
        faults.watch(pages[user])
        pages[user].goto(system.url)
    return pages


def play(system, pages, faults):
    """From the invitation to the results."""
    url = system.url
    anna, ben = pages.values()

    ben.locator("a.runs-link").click()
    ben.locator("#empty", has_text="No virtual run yet").wait_for()
    run = invite(ben, "anna", lambda page: page.get_by_label("Distance, km").fill("0.1"))

    anna.locator(".invitation", has_text="ben invites you to a virtual run").wait_for()
    both_look(pages, faults, "invited")
    anna.locator(".invitation").get_by_role("button", name="Accept").click()
    anna.wait_for_url(f"**/virtual-runs/{run}")
    ben.get_by_role("button", name="Go", exact=True).click()
    ben.locator("#ready-text", has_text="Waiting for anna").wait_for()
    both_look(pages, faults, "go")
    system.simulate("ben", run)
    anna.get_by_role("button", name="Go", exact=True).click()
    system.simulate("anna", run)
    anna.locator("#countdown").wait_for()
    screenshot(anna, "virtual-run-countdown")

    for page in pages.values():
        page.locator(".lanes.two .lane:not(.mine) .chip", has_text="Live").wait_for()
        page.locator(".lane:not(.mine) .lane-gap", has_text=re.compile("ahead|behind|level")).wait_for()
        page.locator(".lane.mine [data-value=heartRate] .number", has_text=re.compile(r"^\d+$")).wait_for()
    both_look(pages, faults, "lanes")

    # Announcements of the workout are read aloud too.
    ben.locator("#workout").click()
    ben.locator("#speak[aria-pressed=true]").wait_for()
    ben.go_back()
    for page in pages.values():
        page.locator("#results tr").nth(1).wait_for()
        page.locator("#provisional").wait_for(state="hidden")
    both_look(pages, faults, "results")
    rows = anna.locator("#results tr").all_inner_texts()
    if not all("0.10 km" in row for row in rows) or rows != [row.replace("ben (you)", "ben") for row in rows]:
        faults.found.append(f"results are {rows}")
    # The list shows the place.
    anna.goto(f"{url}/virtual-runs")
    anna.locator("#runs li", has_text=re.compile("2 runners · place [12]")).wait_for()
    anna.locator("#contacts li", has_text="ben").wait_for()


def refuse(system, pages):
    """Decline, and Cancel run."""
    url = system.url
    anna, ben = pages.values()
    for page in pages.values():
        page.goto(f"{url}/virtual-runs")
    invite(ben, "anna")
    anna.locator(".invitation").get_by_role("button", name="Decline").click()
    ben.locator("#over", has_text="This run was canceled. All declined.").wait_for()
    ben.goto(f"{url}/virtual-runs")
    run = invite(ben, "anna")
    anna.locator(".invitation", has_text="ben invites you").wait_for()
    press(ben, "Cancel run")
    ben.locator("#over", has_text="This run was canceled.").wait_for()
    anna.locator(".invitation").wait_for(state="hidden")
    anna.goto(f"{url}/virtual-runs/{run}")
    anna.locator("#over", has_text="This run was canceled.").wait_for()


def end(system, pages, faults):
    """Of a run without goal: Begin, Leave, and End My Run after the partner's finish."""
    url = system.url
    anna, ben = pages.values()
    ben.goto(f"{url}/virtual-runs")
    run = invite(ben, "anna", lambda page: page.locator("#invite-form [name=goal][value='']").check(force=True))
    ben.locator("#people-box #invite").click()
    ben.locator("#invite-dialog [name=people]").fill("cleo")
    ben.locator("#invite-dialog .primary").click()
    ben.locator("#people li", has_text="cleo").wait_for()
    anna.goto(f"{url}/virtual-runs/{run}")
    anna.locator("#share").click()
    anna.locator("#share-dialog").get_by_label("Route after the run").check()
    anna.locator("#share-confirm").click()
    anna.locator("#ready-text", has_text="Waiting for ben to begin").wait_for()
    ben.locator("#people").get_by_role("button", name="Remove cleo").click()
    ben.locator("#people li", has_text="cleo").locator("span", has_text="Declined: removed by the host").wait_for()
    press(ben, "Begin")
    # A device that waits for the run would confirm it first.
    for page in pages.values():
        press(page, "Go")
    devices = {user: system.simulate(user, run) for user in pages}
    anna.locator(".lane:not(.mine) .chip", has_text="Live").wait_for()
    for lane in [".mine", ":not(.mine)"]:
        anna.locator(f".lane{lane} [data-value=distance] .number", has_text=re.compile("0.0[1-9]")).wait_for()
    devices["ben"].send_signal(signal.SIGINT)
    anna.locator("#prompt-text", has_text="ben finished").wait_for()
    both_look(pages, faults, "finished")
    press(anna, "End My Run", "#prompt")
    anna.locator("#totals", has_text=re.compile(r"^\d\d:\d\d · 0\.\d\d km$")).wait_for()
    if anna.evaluate("document.activeElement.textContent") != "Keep going":
        faults.found.append("the focus is not on Keep going")
    press(anna, "Keep going", "#end-dialog")
    press(anna, "End My Run", "#prompt")
    press(anna, "End and save", "#end-dialog")
    anna.locator("#results tr").nth(1).wait_for()


def record(system, pages, faults):
    """A phone's browser is the device of a runner."""
    anna, ben = pages.values()
    ben.goto(f"{system.url}/virtual-runs")
    run = invite(ben, "anna", lambda page: page.locator("#invite-form [name=goal][value='']").check(force=True))
    anna.context.grant_permissions(["geolocation"], origin=system.url)
    anna.goto(f"{system.url}/virtual-runs/{run}")
    press(anna, "Accept")
    for page in [ben, anna]:
        page.get_by_role("button", name="Go", exact=True).click()
    device = system.simulate("ben", run)
    anna.locator("#countdown").wait_for()
    anna.locator("#countdown").wait_for(state="hidden")
    anna.locator("#record").click()
    anna.locator("#record-start").click()
    anna.locator("#recorder").wait_for()
    lane = ben.locator(".lane:not(.mine)")
    latitude = 52.5
    while not lane.locator("[data-value=distance] .number", has_text=re.compile("0.0[1-9]")).is_visible():
        latitude += 0.00005
        anna.context.set_geolocation({"latitude": latitude, "longitude": 13.4, "accuracy": 5})
        # Without a touch for 10 s, touches are locked.
        anna.evaluate("dispatchEvent(new PointerEvent('pointerdown'))")
        anna.wait_for_timeout(500)
    lane.locator(".chip", has_text="Live").wait_for()
    anna.locator("#controls").get_by_role("button", name="Pause").click()
    anna.locator("#controls").get_by_role("button", name="End").click()
    anna.locator("#end-confirm").click()
    anna.wait_for_url("**/workout/anna/*")
    device.send_signal(signal.SIGINT)
    ben.locator("#results tr").nth(1).wait_for()


with System(*SERVICES) as system, chromium() as browser:
    faults = Faults(system)
    pages = open_all(system, browser, faults)
    play(system, pages, faults)
    refuse(system, pages)
    record(system, pages, faults)
    end(system, pages, faults)
faults.finish()
