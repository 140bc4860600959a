"""The page of the account: the profile in two tabs, theme, logins, and the deletion of everything."""

import time

import histories
import paho.mqtt.client as paho
from browser import DESKTOP, PHONE, close, close_all, open_page, screenshot, until, visit
from world import run

WEIGHT = 120_000
PROFILE = {"units": "metric", "weight": 62.5, "zones": [110, 130, 150, 170], "timeZone": "Europe/Berlin"}
TOPIC = "pacebus/v1/u/anna/profile"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.4 Mobile/15E148 Safari/604.1"
)


class ProfileEngine:
    """Replaces the profile as session-engine does: it is published before the reply."""

    def __init__(self, world, dropped=()):
        self.world, self.dropped = world, dropped
        self.revision = int(time.time() * 1000)
        self.publish(PROFILE)
        world.answers["setProfile"] = self.answer

    def publish(self, profile):
        self.revision += 1
        self.profile = {key: value for key, value in profile.items() if key not in self.dropped}
        self.world.publish([(TOPIC, {"revision": self.revision, **self.profile})])

    def answer(self, _, press):
        self.publish(press["profile"])
        return {"revision": self.revision}


def open_account(world, browser, faults, user="anna", device=DESKTOP):
    page = open_page(world, browser, faults, "/account", user, device)
    page.locator("main.drawn").wait_for()
    return page


def has_value(page, label, value):
    until(page, "([name, value]) => document.getElementById(name).value === value", [label, value])


def save(page, text="Saved."):
    page.get_by_role("button", name="Save profile").click()
    page.locator("#saved", has_text=text).wait_for()


def looks(world, browser, faults):
    """On a phone and a desktop, light and dark: weight, shifts, accessibility."""
    messages = [(TOPIC, {"revision": 1, **PROFILE})]
    ready = lambda page: has_value(page, "weight", "62.5 kg")  # noqa: E731
    visit(world, browser, faults, "account", "/account", "anna", messages, ready, WEIGHT, ["account"])


def profile(world, browser, faults):
    """What is saved replaces only what was changed; invalid texts are refused with the bounds."""
    engine = ProfileEngine(world)
    page = open_account(world, browser, faults, device=PHONE)
    has_value(page, "weight", "62.5 kg")
    page.get_by_label("Maximum heart rate").fill("300")
    page.get_by_label("Year of birth").fill("ninety")
    page.get_by_label("Threshold power").fill("250 W")
    page.get_by_role("button", name="Save profile").click()
    page.locator(
        "#maximumHeartRate-note", has_text="The maximum heart rate is 300 bpm. Allowed are 80 to 250 bpm."
    ).wait_for()
    page.locator("#birthYear-note", has_text="“ninety” is no year of birth").wait_for()
    faults.expect(
        page.evaluate("document.activeElement.id") == "birthYear", "the first invalid field does not have the focus"
    )
    faults.expect(world.sent("setProfile") == [], "an invalid profile was sent")
    faults.look(page, "account-invalid")
    page.get_by_label("Maximum heart rate").fill("188")
    page.get_by_label("Year of birth").fill("1990")
    page.get_by_label("Weight").fill("63")
    page.get_by_label("Sex").select_option("female")
    page.get_by_label("Threshold heart rate").fill("168")
    save(page)
    wanted = {
        **PROFILE,
        "weight": 63,
        "birthYear": 1990,
        "sex": "female",
        "maximumHeartRate": 188,
        "thresholdHeartRate": 168,
        "thresholdPower": 250,
    }
    faults.expect(engine.profile == wanted, f"saved {engine.profile}, not {wanted}")
    has_value(page, "weight", "63 kg")
    faults.expect(not page.locator("#unsaved").is_visible(), "what was saved counts as changed")
    page.get_by_label("Sex").select_option("")
    save(page)
    faults.expect("sex" not in engine.profile, "a field that was emptied stays")
    # A refusal of the engine is said, and what was typed stays.
    world.answers["setProfile"] = {"error": {"code": "invalid_command", "message": "weight: 20 to 400 kg"}}
    page.get_by_label("Weight").fill("64 kg")
    save(page, "Not saved: weight: 20 to 400 kg")
    has_value(page, "weight", "64 kg")
    # Units of the menu: a weight without a unit that was typed stays the same.
    page.get_by_label("Weight").fill("70")
    page.locator("#menu summary").click()
    page.locator("#menu").get_by_label("Imperial").check()
    has_value(page, "weight", "70 kg")
    page.get_by_label("Weight").fill("")
    close_all(page.context)


def older_engine(world, browser, faults):
    """A field that the engine does not know is not called saved."""
    ProfileEngine(world, dropped=["thresholdPower"])
    page = open_account(world, browser, faults)
    has_value(page, "weight", "62.5 kg")
    page.get_by_label("Threshold power").fill("250")
    save(page, "Saved without threshold power: session-engine")
    page.get_by_label("Threshold power").fill("")
    close_all(page.context)


def two_tabs(world, browser, faults):
    """Tabs do not overwrite each other: each saves what was changed in it, and says what was changed elsewhere."""
    engine = ProfileEngine(world)
    page = open_account(world, browser, faults)
    other = page.context.new_page()
    faults.watch(other)
    other.goto(world.url + "/account")
    for each in (page, other):
        has_value(each, "weight", "62.5 kg")
    page.get_by_label("Weight").fill("61 kg")
    other.get_by_label("Resting heart rate").fill("52")
    save(other)
    has_value(page, "restingHeartRate", "52")
    has_value(page, "weight", "61 kg")
    other.get_by_label("Weight").fill("60 kg")
    save(other)
    page.locator("#weight-note", has_text="It was changed to 60 kg elsewhere. Saving replaces that.").wait_for()
    has_value(page, "weight", "61 kg")
    save(page)
    has_value(other, "weight", "61 kg")
    faults.expect(engine.profile == {**PROFILE, "weight": 61, "restingHeartRate": 52}, f"saved {engine.profile}")
    faults.expect(page.locator("#weight-note").inner_text() == "", "the note stays after saving")
    for each in (page, other):
        close(each)
    close_all(page.context)


def theme(world, browser, faults):
    """Page and menu show the same theme, also after a reload; the menu leads here."""
    page = open_page(world, browser, faults, "/plans", "anna", DESKTOP)
    page.locator("#menu summary").click()
    page.get_by_role("link", name="Account").click()
    page.locator("main.drawn").wait_for()
    page.locator("main").get_by_label("Dark").check()
    faults.expect(page.locator("#menu input[value='dark']").is_checked(), "the menu shows another theme")
    page.reload()
    page.locator("main.drawn").wait_for()
    faults.expect(page.evaluate("document.documentElement.dataset.theme") == "dark", "the theme is forgotten")
    faults.expect(page.locator("main").get_by_label("Dark").is_checked(), "the page shows another theme")
    close_all(page.context)


def logins(world, browser, faults):
    """Commands of the operator have the account's name; log out everywhere asks for it. A viewer has no profile."""
    page = open_account(world, browser, faults, "coach")
    text = page.locator("main").inner_text()
    faults.expect("compose/user password coach" in text, f"no command for the password: {text}")
    faults.expect(
        not any(word in text for word in ("Profile", "Delete everything", "device revoke")), "a viewer has a profile"
    )
    operator = open_account(world, browser, faults, "_operator")
    text = operator.locator("main").inner_text()
    faults.expect("Logins" in text and "compose/user" not in text, f"the operator reads {text}")
    close_all(operator.context)
    page.get_by_role("button", name="Log out everywhere").last.click()
    page.wait_for_url("**/login")
    faults.expect(len(world.sent("all")) == 1, "the logins of the account were not ended")
    close_all(page.context)


def browsers(world, browser, faults):
    """The browsers that are logged in, and when each was last used; one ends the login of another, whose page says so."""
    topic, revision = "pacebus/v1/u/coach/signed-out", int(time.time() * 1000)

    def sign_out(_, press):
        world.publish([(topic, {"revision": revision, "logins": [{"id": press["login"], "at": time.time()}]})])
        return {}

    page = open_account(world, browser, faults, "coach")
    rows = page.locator("#logins li")
    faults.expect(rows.first.inner_text() == "This browser\nconnected now", f"first is {rows.first.inner_text()}")
    other = world.context(browser, "coach", **PHONE, user_agent=IPHONE).new_page()
    faults.watch(other, 401)
    other.goto(world.url + "/account")
    row = rows.filter(has_text="Safari on iPhone")
    row.filter(has_text="connected now").wait_for()
    other.locator("#logins li", has_text=" on Linux").filter(has_text="connected now").wait_for()
    faults.look(page, "account-logins")
    page.locator("#logins").scroll_into_view_if_needed()
    screenshot(page, "account-logins")
    login = other.request.get(f"{world.url}/me").json()["login"]
    world.answers["one"] = {"error": {"code": "x", "message": "not now"}}
    row.get_by_role("button", name="Log out Safari on iPhone, connected now").click()
    page.locator("#logins-error", has_text="Safari on iPhone is not logged out: not now").wait_for()
    other.goto(world.url + "/")
    row.filter(has_text="connected now").wait_for()
    world.answers["one"] = sign_out
    row.get_by_role("button").click()
    other.wait_for_url("**/login*")
    other.get_by_text("Your login has ended").wait_for()
    row.wait_for(state="detached")
    faults.expect([each["login"] for each in world.sent("one")] == [login] * 2, f"sent {world.sent('one')}")
    # The broker still lists it.
    page.reload()
    page.locator("main.drawn").wait_for()
    names = page.locator("#logins strong").all_inner_texts()
    faults.expect(names[0] == "This browser" and "Safari on iPhone" not in names, f"after the end: {names}")
    for each in (page, other):
        close_all(each.context)


def deletion(world, browser, faults):
    """After the account's name is typed: progress until the history is empty, also over a reload; no copy stays."""
    engine = histories.Engine(histories.years(40, time.time()))
    profiles = ProfileEngine(world)
    world.answers["workouts"] = engine.answer
    page = open_page(world, browser, faults, "/history", "anna", PHONE)
    page.locator("#sum", has_text="40 workouts").wait_for()
    page.goto(world.url + "/account")
    page.locator("main.drawn").wait_for()
    page.get_by_role("button", name="Delete everything…").click()
    confirm = page.locator("#delete-confirm")
    faults.look(page, "account-delete")
    page.locator("#delete-name").fill("ann")
    faults.expect(confirm.is_disabled(), "another name deletes")
    page.keyboard.press("Enter")
    faults.expect(page.locator("#delete-dialog").is_visible(), "Enter deletes without the name")
    # A refusal deletes nothing.
    world.answers["deleteEverything"] = {"error": {"code": "x", "message": "not now"}}
    page.locator("#delete-name").fill("anna")
    confirm.click()
    page.locator("#delete-error", has_text="Nothing was deleted: not now").wait_for()

    def half(*_):
        for session in list(engine.workouts)[:15]:
            engine.delete(session)
        profiles.publish({"erasedAt": time.time()})
        return {"revision": profiles.revision}

    world.answers["deleteEverything"] = half
    page.get_by_role("button", name="Delete everything…").click()
    page.locator("#delete-name").fill("anna")
    page.keyboard.press("Enter")
    page.locator("#erased-text", has_text="15 of 40 workouts are deleted.").wait_for()
    faults.expect(page.evaluate("document.querySelector('progress').value") == 15, "the progress bar is elsewhere")
    has_value(page, "weight", "")
    faults.look(page, "account-deleting")
    page.reload()
    page.locator("#erased-text", has_text="15 of 40 workouts are deleted.").wait_for()
    for session in list(engine.workouts)[:10]:
        engine.delete(session)
    page.locator("#erased-text", has_text="25 of 40 workouts are deleted.").wait_for()
    engine.forget()
    page.get_by_role("heading", name="Everything is deleted").wait_for()
    page.locator("#remains", has_text="compose/user remove anna").wait_for()
    screenshot(page, "account-deleted")
    until(page, "async () => !(await indexedDB.databases()).some(({name}) => /history|chunks/.test(name))")
    faults.look(page, "account-deleted")
    faults.expect(len(world.sent("deleteEverything")) == 2, "the request was sent again")
    page.reload()
    page.locator("main.drawn").wait_for()
    faults.expect(not page.locator("#erased").is_visible(), "the next visit still speaks of it")
    close_all(page.context)


def devices(world, browser, faults):
    """The devices with a password of their own, and when each was last used, as the broker has it."""
    page = open_account(world, browser, faults)
    faults.expect(not page.locator("#devices-part").is_visible(), "an empty list of devices")
    for device in ("watch", "phone-3f9a"):
        world.set_password(f"anna/{device}", device)
    page.locator("#devices dd", has_text="not used since the server was last started").nth(1).wait_for()
    watch = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
    watch.username_pw_set("anna", "watch")
    watch.connect("127.0.0.1", world.broker.port)
    watch.loop_start()
    row = page.locator("#devices div", has_text="watch")
    row.locator("dd", has_text="connected now").wait_for()
    faults.look(page, "account-devices")
    watch.disconnect()
    watch.loop_stop()
    row.locator("dd", has_text="last used ").wait_for()
    names = page.locator("#devices dt").all_inner_texts()
    faults.expect(names == ["phone-3f9a", "watch"], f"devices {names}")
    world.set_password("anna/watch", None)
    row.wait_for(state="detached")
    world.set_password("anna/phone-3f9a", None)
    page.locator("#devices-part").wait_for(state="hidden")
    close_all(page.context)


if __name__ == "__main__":
    run([looks, profile, older_engine, two_tabs, theme, logins, browsers, devices, deletion])
