"""The map with a tile server, here a fake one, of a server whose --tiles names it."""

import base64
import re

import fixtures
from browser import DESKTOP, SMALL, Faults, chromium, close_all, screenshot, until
from world import World

TILES = "https://tiles.example"
GREEN = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkqPlfDwAD2wHeRSQpsgAAAABJRU5ErkJggg=="
)

world = World(TILES=f"{TILES}/{{z}}/{{x}}/{{y}}.png © Example contributors")
faults = Faults(world, TILES)

with chromium() as browser:
    for size, device in {"small": SMALL, "desktop": DESKTOP}.items():
        context = world.context(browser, "anna", **device, reduced_motion="reduce")
        page = context.new_page()
        faults.watch(page)
        tiles = []

        def answer(route):
            tiles.append(route.request.url)
            route.fulfill(body=GREEN, content_type="image/png")

        page.route(f"{TILES}/**", answer)
        world.reset()
        world.publish(fixtures.outdoor("anna", fixtures.now()))
        page.goto(f"{world.url}/live/anna/{fixtures.session_of('anna')}")
        page.locator(".route-line").first.wait_for(state="attached")
        until(page, "() => [...document.querySelectorAll('.leaflet-tile')].some(tile => tile.naturalWidth > 0)")
        if not all(re.fullmatch(rf"{TILES}/\d+/\d+/\d+\.png", url) for url in tiles):
            faults.found.append(f"tiles are {tiles}")
        attribution = page.locator("#map-box .attribution")
        if not attribution.is_visible() or attribution.inner_text() != "© Example contributors":
            faults.found.append("the tiles have no attribution")
        box, others = attribution.bounding_box(), [page.locator(name).bounding_box() for name in ["#fold", "#scale"]]
        for other in filter(None, others):
            if (
                box["x"] < other["x"] + other["width"]
                and other["x"] < box["x"] + box["width"]
                and box["y"] + box["height"] > other["y"]
            ):
                faults.found.append(f"{size}: the attribution covers a part of the map's controls")
        if page.locator("#map.paper").count() > 0 or not page.locator("#scale span").inner_text():
            faults.found.append("tiles lie on paper, or the scale has no label")
        screenshot(page, f"tiles-{size}")
        faults.look(page, f"tiles-{size}")
        close_all(context)
faults.finish()
