"""The pages of virtual runs in every state, the banner on other pages, and what their forms and questions do.

With SCREENSHOTS, the name of a folder, it leaves pictures of all states there; otherwise it visits the most different ones.
"""

import json
import re

import fixtures
from browser import DESKTOP, PHONE, Held, check_shifts, close_all, is_thorough, open_page, until, visit
from fixtures import RUN, run_scenes, run_topic
from world import run, wait

URL = f"/virtual-runs/{RUN}"
LIST = "/virtual-runs"
WEIGHTS = {"/": 60_000, URL: 150_000, LIST: 60_000}
SHOWS = {
    "run-invited": ("#ready .primary", "Accept"),
    "run-hosting": ("#people button", "Remove"),
    "run-ready": ("#ready .primary", "Go"),
    "run-waiting": ("#ready-text", "Waiting for ben"),
    "run-countdown": ("#countdown", None),
    "run-two": (".lanes.two .lane-gap", "ahead"),
    "run-lanes": (".lane.lost", None),
    "run-finished": ("#prompt", "ben finished"),
    "run-lost": ("#prompt", "Partner lost"),
    "run-results": ("#splits tr td", "+"),
    "run-left": ("#over", "You did not press Go within a minute."),
}
DIALOGS = {
    "run-end": ("run-lost", "#prompt-end", "#end-dialog[open] #end-confirm"),
    "run-share": ("run-two", "#share", "#share-dialog[open]"),
    "run-invite": ("run-hosting", "#invite", "#invite-dialog[open]"),
    "run-heart-rate": ("run-results", "#by-heart-rate", ".route-line.zone-4"),
}


def scene(name):
    return run_scenes(fixtures.now())[name]


def shown(selector, text=None):
    return lambda page: page.locator(selector).filter(has_text=text).first.wait_for()


def pressed(button, then):
    def press(page):
        page.locator(button).click()
        page.locator(then).first.wait_for(state="attached")

    return press


def overviews(count):
    """A page of runs, of which the older ones come on request."""
    runs = fixtures.run_overviews(fixtures.now(), count)["runs"]
    return lambda _, press: {
        "runs": [run for run in runs if run["createdAt"] < press.get("before", float("inf"))][: press["limit"]]
    }


# What pages look like.


def states(world, browser, faults):
    world.answers = {"routes": fixtures.run_details(), "runs": overviews(50), "workouts": ghosts(fixtures.now())}

    def look(name, path, user, messages, ready):
        visit(world, browser, faults, name, path, user, messages, ready, WEIGHTS[path], ["run-lanes"])

    for name in SHOWS if is_thorough else ["run-lanes", "run-results", "run-hosting", "run-lost"]:
        look(name, URL, "anna", scene(name), shown(*SHOWS[name]))
    for name, (before, button, then) in DIALOGS.items():
        look(name, URL, "anna", scene(before), pressed(button, then))
    look("run-banner", "/", "anna", scene("run-invited"), shown(".invitation button", "Accept"))
    look("runs-invited", LIST, "anna", scene("run-invited"), shown("#runs li", "Inviting"))
    people = [fixtures.run_people(fixtures.now())]
    look("runs", LIST, "anna", people, shown("#older"))
    look("runs-invite", LIST, "anna", people, pressed("#invite", "#invite-dialog[open]"))
    world.answers = {}
    look("runs-empty", LIST, "ben", [], shown("#empty", "No virtual run yet"))
    for path, name in {LIST: "#empty", URL: "#terms"}.items():
        text = "Virtual runs are for people who train. This account only watches others."
        look(f"viewer{path.replace('/', '-')}", path, "coach", [], shown(name, text))


def late(world, browser, faults):
    """Whatever comes late moves nothing: each message, and each file."""
    world.answers = {"routes": fixtures.run_details()}
    for size, device in {"phone": PHONE, **({"desktop": DESKTOP} if is_thorough else {})}.items():
        for name in ["run-two", "run-results"]:
            messages = scene(name)
            for message in messages:
                world.publish([other for other in messages if other is not message])
                page = open_page(world, browser, faults, URL, "anna", device)
                page.locator("main.drawn").wait_for()
                world.publish([message])
                page.wait_for_timeout(600)
                check_shifts(page, faults, f"{name}-{size} with a late {message[0].rsplit('/', 1)[1]}")
                close_all(page.context)
                world.publish([(topic, None) for topic, _ in messages])
            world.publish(messages)
            for part in ["**/me", "**/modules/*.js", "**/*.css", "**/modules/map.js", "**/leaflet/*"]:
                page = open_page(world, browser, faults, None, "anna", device)
                held = Held(page, part)
                page.goto(world.url + URL, wait_until="commit")
                held.release_slowly()
                shown(*SHOWS[name])(page)
                page.locator("main.drawn").wait_for()
                check_shifts(page, faults, f"{name}-{size} with late {part}")
                close_all(page.context)
            world.publish([(topic, None) for topic, _ in messages])


# What pages do.


def banner(world, browser, faults):
    """An accepted invitation opens the run in the tab of the press alone, and no workout's page leaves."""
    page = open_page(world, browser, faults, "/", "anna", PHONE)
    other = page.context.new_page()
    faults.watch(other)
    other.goto(world.url)
    live = page.context.new_page()
    faults.watch(live)
    world.publish(fixtures.outdoor("anna", fixtures.now()))
    live.goto(f"{world.url}/live/anna/{fixtures.session_of('anna')}")
    world.publish(scene("run-invited"))
    for tab in [page, other, live]:
        tab.locator(".invitation", has_text="ben invites you to a virtual run").wait_for()
    world.answers["accept"] = None
    live.locator(".invitation").get_by_role("button", name="Accept").click()
    for tab in [page, other, live]:
        tab.locator(".invitation", has_text="Accepting…").wait_for()
        faults.expect(tab.locator(".invitation .primary").is_disabled(), "Accept is on while it is under way")
    world.answers["accept"] = {}
    until(live, "() => !document.querySelector('.invitation .primary').disabled")
    page.wait_for_timeout(300)
    faults.expect(live.url.endswith(fixtures.session_of("anna")), "a workout's page leaves")
    faults.expect(page.url == f"{world.url}/", "an answer to another tab opens the run")
    page.locator(".invitation").get_by_role("button", name="Accept").click()
    page.wait_for_url(f"**{URL}")
    faults.expect(other.url == f"{world.url}/", "a run opens in each tab")
    faults.expect(all(sent["sharing"] == {} for sent in world.sent("accept")), "Accept says nothing of sharing")
    # What is to confirm waits for the end of a workout.
    world.publish([("pacebus/v1/u/anna/current", fixtures.current("anna", fixtures.now())), *scene("run-ready")])
    other.locator(".invitation", has_text="End your workout Outdoor Running first.").wait_for()
    faults.expect(other.get_by_role("button", name="Go").is_disabled(), "Go is on during another workout")
    world.publish([(run_topic(), None)])
    other.locator(".invitation").wait_for(state="detached")
    close_all(page.context)


def kept(world, browser, faults):
    """A request without reply lasts over a reload; a refusal stays until it is dismissed."""
    world.publish(scene("run-invited"))
    world.answers["decline"] = None
    page = open_page(world, browser, faults, URL, "anna", PHONE)
    page.locator("#ready").get_by_role("button", name="Decline").click()
    page.locator("#press", has_text="Declining…").wait_for()
    wait(lambda: world.sent("decline"), "the request")
    page.reload()
    page.locator("#press", has_text="Declining…").wait_for()
    page.locator("#press", has_text="The server does not answer. Your press is kept.").wait_for()
    faults.expect(len({sent["id"] for sent in world.sent("decline")}) == 1, "a reload made another request")
    world.answers["decline"] = {"error": {"code": "invalid_state", "message": "the run has begun"}}
    page.locator("#press.refused", has_text="the run has begun").wait_for()
    page.reload()
    page.locator("#press.refused").get_by_role("button", name="Dismiss").click()
    page.locator("#press.refused").wait_for(state="hidden")
    close_all(page.context)


def questions(world, browser, faults):
    """Questions are repeated until their answer, and the page says so."""
    for name in ["runs", "show"]:
        world.answers[name] = None
    page = open_page(world, browser, faults, LIST, "anna", PHONE)
    page.locator("#empty", has_text="The server does not answer. Trying again.").wait_for()
    run = open_page(world, browser, faults, URL, "anna", PHONE)
    run.locator("#terms", has_text="The server does not answer. Trying again.").wait_for()
    world.answers["runs"] = {"error": {"code": "invalid_command", "message": "no runs today"}}
    page.locator("#empty", has_text="no runs today").wait_for()
    world.answers["show"] = {"error": {"code": "run_not_found", "message": "unknown run"}}
    run.locator("#terms", has_text="There is no such run among yours.").wait_for()
    close_all(run.context)
    close_all(page.context)

    # virtual-run publishes the view of a run that was long ago.
    def show(*_):
        world.client.publish(*published(scene("run-results")[0]), qos=1, retain=True)
        world.topics.add(run_topic())
        return {}

    world.answers = {"show": show, "routes": fixtures.run_details(), "runs": overviews(120)}
    page = open_page(world, browser, faults, URL, "anna", PHONE)
    page.locator("#results tr").nth(2).wait_for()
    page.locator("#splits tr td", has_text="+").first.wait_for()
    page.goto(world.url + LIST)
    for count in [51, 101, 121]:
        until(page, "count => document.querySelectorAll('#runs li').length === count", count)
        if count < 121:
            page.locator("#older").click()
    faults.expect(not page.locator("#older").is_visible(), "older runs are offered after the last")
    close_all(page.context)


def finish(world, browser, faults):
    """Who is there sees who won; the results have tenths and the gap, print without controls, and lead to a rematch."""
    world.answers = {"routes": fixtures.run_details()}
    world.publish(scene("run-two"))
    page = open_page(world, browser, faults, URL, "anna", PHONE)
    page.locator(".lane.mine").wait_for()
    page.emulate_media(reduced_motion="no-preference")
    (topic, view), *_ = scene("run-results")
    rows = view["results"]["rows"]
    rows[1] |= {"time": 1571.25, "behind": {"seconds": 8.25}}
    view |= {"results": {"rows": rows}, "revision": view["revision"] + 1000, "goal": {"distance": 5000}}
    world.publish([(topic, view)])
    page.locator("#winner.now", has_text="ben won").wait_for()
    page.locator("#winner", has_text="You came in 2nd, 0:08.3 behind.").wait_for()
    page.locator("[aria-live]", has_text="ben won").wait_for(state="attached")
    faults.expect(animated(page), "the winner comes without motion")
    page.emulate_media(reduced_motion="reduce")
    faults.expect(not animated(page), "the winner moves with reduced motion")
    page.locator("#results", has_text="26:11.2").wait_for()
    page.locator("#gap canvas").first.wait_for()
    page.locator("#gap[aria-label*='At the end: anna (you)']").wait_for()
    faults.look(page, "run-won")
    page.emulate_media(media="print")
    for control in [".top", "#tools", "#rematch", "#compare", "#map-box"]:
        faults.expect(page.locator(control).is_hidden(), f"{control} is printed")
    faults.expect(page.locator("#results").is_visible(), "the results are not printed")
    page.emulate_media(media="screen", forced_colors="active")
    mine = page.locator("#winner").evaluate("e => getComputedStyle(e).borderStyle")
    faults.expect(mine == "solid", "the winner has no edge in forced colours")
    page.emulate_media(forced_colors="none")
    page.reload()
    page.locator("#winner", has_text="ben won").wait_for()
    faults.expect(page.locator("#winner.now").count() == 0, "a result of long ago is news")
    page.locator("#rematch").click()
    page.locator("#invite-dialog[open]").wait_for()
    values = page.locator("#invite-form").evaluate("form => Object.fromEntries(new FormData(form))")
    wanted = {"people": "ben", "goal": "distance", "distance": "5"}
    faults.expect(wanted.items() <= values.items(), f"the rematch is {values}")
    page.reload()
    page.locator("main.drawn").wait_for()
    faults.expect(page.locator("#invite-dialog[open]").count() == 0, "a reload opens the form again")
    close_all(page.context)


def animated(page):
    return page.locator("#winner").evaluate(
        "e => e.getAnimations().length > 0 || getComputedStyle(e).animationName !== 'none'"
    )


def published(message):
    topic, payload = message
    return topic, json.dumps(payload)


def ghosts(now):
    own = [("0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa01", 5000), ("0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa02", 50)]
    return {
        "workouts": [
            {
                "user": "anna",
                "session": session,
                "activity": "running",
                "name": "Outdoor Running",
                "startedAt": now - 90_000,
                "distance": distance,
                "activeDuration": 1500,
                "timeZone": "UTC",
            }
            for session, distance in own
        ]
    }


def invite(world, browser, faults):
    """The form that creates a run, with contacts and ghosts; the page of the run opens when it is there."""
    world.answers["workouts"] = ghosts(fixtures.now())
    world.publish([fixtures.run_people(fixtures.now())])
    page = open_page(world, browser, faults, LIST, "anna", PHONE)
    page.locator("#contacts li").first.wait_for()
    page.locator("#invite").click()
    page.locator("#contact-choices").get_by_role("button", name="ben").click()
    page.locator("#invite-form .more summary").click()
    page.locator("#ghosts label").check()
    faults.expect(page.locator("#ghosts label").count() == 1, "a workout of 50 m is offered as a ghost")
    page.get_by_label("Distance, km").fill("3")
    page.get_by_label("Pacing partner").fill("1:00")
    page.locator("#invite-form .primary").click()
    page.locator("#invite-error", has_text="The pace of a kilometre is from 2:00 to 30:00.").wait_for()
    page.get_by_label("Pacing partner").fill("")
    world.answers["create"] = {"error": {"code": "run_limit", "message": "too many runs"}}
    page.locator("#invite-form .primary").click()
    page.locator("#press.refused", has_text="too many runs").wait_for()
    world.answers["create"] = {}
    page.locator("#invite").click()
    page.locator("#invite-form .primary").click()
    page.wait_for_url(re.compile("/virtual-runs/[0-9a-f-]{36}$"))
    refused, made = world.sent("create")
    faults.expect(page.url.endswith(made["run"]) and refused["run"] != made["run"], f"{page.url} is not {made}")
    wanted = {"invite": ["ben"], "goal": {"distance": 3000}, "clock": "active", "start": "together", "sharing": {}}
    wanted["ghosts"] = [{"session": "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa01"}]
    faults.expect(wanted.items() <= made.items(), f"create is {made}")
    close_all(page.context)


def forms(world, browser, faults):
    """What is entered while a request is under way stays."""
    world.publish(scene("run-hosting"))
    for name in ["setInvites", "invite"]:
        world.answers[name] = None
    page = open_page(world, browser, faults, LIST, "anna", DESKTOP)
    page.locator("#contacts li").first.wait_for()
    page.locator("#invites-from label", has_text="Nobody").click()
    page.locator("#people-press", has_text="Saving…").wait_for()
    choice = page.locator("[name=invitesFrom][value=nobody]")
    faults.expect(
        choice.is_checked() and choice.is_disabled(), "the choice of who may invite is not kept until its reply"
    )
    page.get_by_label("Account name").fill("zoe")
    page.evaluate("document.querySelector('#person-form').requestSubmit()")
    faults.expect(page.get_by_label("Account name").input_value() == "zoe", "a name that is not taken is lost")
    page.goto(world.url + URL)
    for name in ["zoe", "yara"]:
        page.locator("#invite").click()
        page.locator("#invite-form [name=people]").fill(name)
        page.evaluate("document.querySelector('#invite-form').requestSubmit()")
        page.locator("#press", has_text="Inviting…").wait_for()
    faults.expect(page.locator("#invite-confirm").is_disabled(), "Invite is on while an invitation is under way")
    entered = page.locator("#invite-form [name=people]")
    faults.expect(entered.is_visible() and entered.input_value() == "yara", "a second invitation is lost")
    close_all(page.context)


def prompt(world, browser, faults):
    """A prompt that closes leaves the focus on the page, and does not come back; the end is a command of the session."""
    world.publish(scene("run-finished"))
    page = open_page(world, browser, faults, URL, "anna", PHONE)
    page.locator("#prompt-end").click()
    page.locator("#end-confirm").click()
    wait(lambda: world.sent("end"), "the end")
    page.locator("#prompt-keep").focus()
    page.keyboard.press("Enter")
    page.locator("#prompt").wait_for(state="hidden")
    faults.expect(page.evaluate("document.activeElement !== document.body"), "a dismissed prompt leaves no focus")
    page.reload()
    page.locator(".lane").first.wait_for()
    faults.expect(
        not page.locator("#prompt").is_visible(), "a dismissed prompt comes back when the page is loaded again"
    )
    close_all(page.context)


def figures(world, browser, faults):
    """New figures, announcements, and services that go offline, reach the page; a broker that was away is no end."""
    world.publish(scene("run-two"))
    page = open_page(world, browser, faults, URL, "anna", PHONE)
    page.add_init_script("speechSynthesis.speak = ({ text }) => (window.said ??= []).push(text);")
    page.reload()
    shown(*SHOWS["run-two"])(page)

    def move(distance):
        now = fixtures.now()
        name, values = fixtures.run_live(now, fixtures.run_row("ben", d=distance, gm=distance - 1000))[-1]
        world.publish([(name, values)])
        # Which goes on from there.
        shown(".lane:not(.mine) [data-value=distance] .number", f"{distance / 1000}")(page)

    move(1500)
    for kind, at in [("gap", 0), ("lead", 60)]:
        cue = {
            "at": fixtures.now() - at,
            "kind": kind,
            "number": 1,
            "unit": "km",
            "place": 2,
            "user": "ben",
            "taken": True,
        }
        world.publish([(run_topic("/announcements"), cue)])
    until(page, "() => window.said?.includes('Kilometre 1: place 2')")
    faults.expect(page.evaluate("window.said.length") == 1, "an old announcement is spoken")
    world.set_online("virtual-run", False)
    page.locator("#notices", has_text="The gaps are not being updated at the moment.").wait_for()
    world.set_online("virtual-run", True)
    until(page, "() => document.querySelector('#notices').children.length === 0")
    world.broker.kill()
    page.locator("#bar", has_text="Reconnecting").wait_for()
    world.broker.start()
    wait(world.client.is_connected, "the publisher connects again")
    world.publish(scene("run-two"))
    page.locator("#bar").wait_for(state="hidden")
    move(1600)
    close_all(page.context)


def blocked(world, browser, faults):
    """A browser that blocks its storage shows the pages and sends requests."""
    script = """for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, {
        get() { throw new DOMException('blocked', 'SecurityError'); } });"""
    world.publish(scene("run-invited"))
    page = open_page(world, browser, faults, None, "anna", PHONE)
    page.add_init_script(script)
    for path in [LIST, URL]:
        page.goto(world.url + path)
        page.locator("main.drawn").wait_for()
    page.locator("#ready").get_by_role("button", name="Accept").click()
    wait(lambda: world.sent("accept"), "the request")
    close_all(page.context)


if __name__ == "__main__":
    run([states, finish, late, banner, kept, questions, invite, forms, prompt, figures, blocked])
