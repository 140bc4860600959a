"""Forced colours: what is chosen, drawn or off differs from its surroundings, in light and dark palettes."""

import fixtures
import workouts
from browser import PHONE, close_all, open_page, screenshot
from world import run

LIVE = f"/live/anna/{fixtures.session_of('anna')}"
# Colours as shown, and of the system as probes have them.
COLORS = """selectors => {
    const system = {};
    const probe = document.body.appendChild(document.createElement('i'));
    for (const name of ['Canvas', 'CanvasText', 'Highlight', 'GrayText']) {
        probe.style.color = name;
        system[getComputedStyle(probe).color] ??= name;
    }
    probe.remove();
    return selectors.map(([selector, property]) => {
        const element = document.querySelector(selector);
        const [name, , part] = property.split(' ');
        const color = element && getComputedStyle(element, part)[name];
        return element ? system[color] ?? color : 'missing';
    });
}"""


def check(page, faults, name, expected):
    for (selector, property_, wanted), found in zip(
        expected, page.evaluate(COLORS, [each[:2] for each in expected]), strict=True
    ):
        faults.expect(found == wanted, f"{name}: {property_} of {selector} is {found}, not {wanted}")


def live(world, browser, faults):
    now = fixtures.now()
    world.publish(fixtures.live_scenes(now)["running"])
    for theme, scheme in [("light", "dark"), ("dark", "light")]:
        page = open_page(
            world, browser, faults, None, "anna", {**PHONE, "forced_colors": "active", "color_scheme": scheme}
        )
        # The theme that a reader chose gives way to the system's palette.
        page.add_init_script(f"localStorage.setItem('pacebus.theme', '{theme}')")
        page.goto(world.url + LIVE)
        page.locator(".route-line").first.wait_for(state="attached")
        page.locator("main.drawn").wait_for()
        check(
            page,
            faults,
            f"live, {scheme}",
            [
                (".route-line", "stroke", "CanvasText"),
                (".map-mark.here", "backgroundColor", "CanvasText"),
                ("#signal", "borderTopColor", "Highlight"),
                (".signal", "backgroundColor of ::before", "Highlight"),
                (".control.main", "backgroundColor", "Highlight"),
                # Else the browser puts Canvas behind its text.
                (".control.main", "forcedColorAdjust", "none"),
                (".control.end:disabled", "color", "GrayText"),
                ("[data-choice='theme'] input:checked + span", "backgroundColor", "Highlight"),
            ],
        )
        screenshot(page, f"forced-live-{scheme}")
        close_all(page.context)


def workout(world, browser, faults):
    run_ = workouts.run()
    workouts.answer_chunks(world, run_)
    world.publish(run_.messages())
    page = open_page(
        world, browser, faults, run_.path, "anna", {**PHONE, "forced_colors": "active", "color_scheme": "dark"}
    )
    page.locator("#charts .chart canvas").first.wait_for()
    page.locator(".zone-bars rect").first.wait_for(state="attached")
    check(
        page,
        faults,
        "workout",
        [
            (".zone-bars .zone-1 rect", "fill", "CanvasText"),
            (".zone-bars .share", "outlineColor", "CanvasText"),
            ("#axis-choice input:checked + span", "backgroundColor", "Highlight"),
            ("#axis-choice input:checked + span", "forcedColorAdjust", "none"),
            (".chart-cursor", "backgroundColor", "CanvasText"),
        ],
    )
    page.locator(".stretch").first.click()
    check(
        page,
        faults,
        "workout",
        [
            (".stretch[aria-pressed='true']", "backgroundColor", "Highlight"),
            (".route-stretch", "stroke", "CanvasText"),
        ],
    )
    screenshot(page, "forced-workout")
    close_all(page.context)


if __name__ == "__main__":
    run([live, workout])
