"""Pages without a connection, and on a home screen: the service worker shows what was visited, and keeps no data."""

import fixtures
from browser import PHONE, close_all, open_page, screenshot, until
from world import run

LIVE = f"/live/anna/{fixtures.session_of('anna')}"
KEPT = """async () => {
    const found = [];
    for (const name of await caches.keys())
        for (const {url} of await (await caches.open(name)).keys()) found.push(new URL(url).pathname);
    return found;
}"""
HAS_KEPT = f"async key => (await ({KEPT})()).includes(key)"

ICONS = """async () => {
    const {href} = document.querySelector('link[rel=manifest]');
    const {icons, ...manifest} = await (await fetch(href)).json();
    const touch = document.querySelector('link[rel=apple-touch-icon]').href;
    const sizes = [];
    for (const {src, type, sizes: said} of [...icons, {src: touch, type: 'image/png', sizes: '512x512'}]) {
        const image = new Image();
        image.src = new URL(src, href);
        await image.decode();
        const response = await fetch(image.src);
        const isType = response.headers.get('content-type') === type;
        sizes.push({said, is: `${image.naturalWidth}x${image.naturalHeight}`, isType});
    }
    return {manifest, purposes: icons.map(({purpose}) => purpose ?? ''), sizes};
}"""

WORKING = {**PHONE, "service_workers": "allow"}


def scene(world):
    world.publish(fixtures.live_scenes(fixtures.now())["running"])


def open_kept(world, browser, faults, path=LIVE, key="/live/*/*"):
    """A page that the worker has kept. What the browser logs of lost connections is no fault."""
    page = open_page(world, browser, faults, None, "anna", WORKING)
    page.goto(world.url + path)
    page.locator("main.drawn").wait_for()
    until(page, HAS_KEPT, key)
    until(page, "() => navigator.serviceWorker.controller !== null")
    return page


def leave_network(faults, act):
    """Runs what makes browsers log failed requests."""
    found = list(faults.found)
    act()
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if "ERR_" not in fault]


def says_no_connection(page):
    page.locator("#bar", has_text="No connection. Trying again…").wait_for()


def has_data(page):
    page.locator("[data-key='distance'] .number", has_text="8.31").wait_for()


def without_server(world, browser, faults):
    """The server is away: a reload shows the page and its bar, also of another workout; it continues when the server is back."""
    scene(world)
    page = open_kept(world, browser, faults)
    has_data(page)

    def act():
        world.dashboard.kill()
        page.reload()
        says_no_connection(page)
        faults.expect(page.locator("#status").inner_text() == "Waiting for data", "Live says something else")
        faults.expect(page.locator("header.top").is_visible(), "the page has no header")
        faults.look(page, "live-offline")
        screenshot(page, "live-offline")
        page.goto(f"{world.url}/live/anna/{fixtures.session_of('ben')}")
        says_no_connection(page)
        page.goto(world.url + LIVE)
        says_no_connection(page)
        world.dashboard.start()
        has_data(page)
        page.locator("#bar").wait_for(state="hidden")

    leave_network(faults, act)
    close_all(page.context)


def without_network(world, browser, faults):
    """The device is offline."""
    scene(world)
    page = open_kept(world, browser, faults)

    def act():
        page.context.set_offline(True)
        page.reload()
        says_no_connection(page)
        page.context.set_offline(False)
        has_data(page)

    leave_network(faults, act)
    close_all(page.context)


def slow(world, browser, faults):
    """A server that does not answer: the page comes from its copy after the timeout."""
    page = open_kept(world, browser, faults, "/plans", "/plans")
    world.dashboard.freeze()
    page.reload(wait_until="commit")
    page.get_by_role("heading", name="Plans").wait_for()
    world.dashboard.thaw()
    page.locator("main.drawn").wait_for()
    close_all(page.context)


def contents(world, browser, faults):
    """Only pages and the assets of this release are kept; copies of former releases are deleted, and all at the logout."""
    page = open_page(world, browser, faults, "/login", "anna", WORKING)
    page.evaluate("async () => { await (await caches.open('pacebus /assets/0000')).put('/', new Response('old')); }")
    page.goto(world.url)
    page.locator("main.drawn").wait_for()
    until(page, "async () => !(await caches.keys()).includes('pacebus /assets/0000')")
    until(page, HAS_KEPT, "/")
    page.goto(world.url + "/plans")
    until(page, HAS_KEPT, "/plans")
    version = page.evaluate("fetch('/me').then(response => response.json()).then(({version}) => version)")
    kept = page.evaluate(KEPT)
    pages = {path for path in kept if not path.startswith(f"/assets/{version}/")}
    faults.expect(pages == {"/", "/plans", "/record"}, f"kept are {kept}")
    for name in ("start.js", "plans.js", "icons.svg"):
        faults.expect(any(path.endswith(f"/{name}") for path in kept), f"{name} is not kept: {kept}")
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    page.wait_for_url("**/login")
    kept = page.evaluate(KEPT)
    faults.expect(
        not any(path.endswith(("/", "/plans", "/start.js", "/plans.js")) for path in kept), f"after the logout: {kept}"
    )
    close_all(page.context)


def installed(world, browser, faults):
    """A home screen gets a name, colours and icons of the sizes that the manifest says; the browser would install it."""
    page = open_kept(world, browser, faults, "/", "/")
    found = page.evaluate(ICONS)
    wanted = {"name": "Pacebus", "short_name": "Pacebus", "start_url": "/", "display": "standalone"}
    faults.expect(wanted.items() <= found["manifest"].items(), f"the manifest says {found['manifest']}")
    for size in found["sizes"]:
        faults.expect(size["isType"] and size["said"] in (size["is"], "any"), f"an icon: {size}")
    faults.expect({size["is"] for size in found["sizes"]} >= {"192x192", "512x512"}, f"icons: {found['sizes']}")
    faults.expect("maskable" in found["purposes"], "no icon may be cut to the form of a home screen")
    errors = page.context.new_cdp_session(page).send("Page.getInstallabilityErrors")["installabilityErrors"]
    # Contexts of tests are private windows.
    errors = [error["errorId"] for error in errors if error["errorId"] != "in-incognito"]
    faults.expect(errors == [], f"not installed: {errors}")
    close_all(page.context)


if __name__ == "__main__":
    run([without_server, without_network, slow, contents, installed])
