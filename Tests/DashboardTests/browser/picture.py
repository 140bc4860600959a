"""Makes a picture for the README: picture.py URL USER FILE.webp, the password on standard input.

`live.webp` shows the running workout, `workout.webp` the newest finished one. For a map worth showing, start compose/up ten
minutes before, or replay a recording:
.build/venv/bin/python Tests/DashboardTests/browser/picture.py http://127.0.0.1:8080 demo \\
    Tests/DashboardTests/browser/live.webp <data/secrets/demo
"""

import base64
import pathlib
import sys

from browser import chromium, close_all

URL, USER, FILE = sys.argv[1:]
PASSWORD = sys.stdin.readline().strip()
LIMIT = 60_000
# A desktop and a phone.
SCREENS = [
    {"viewport": {"width": 960, "height": 640}, "color_scheme": "light"},
    {"viewport": {"width": 360, "height": 640}, "color_scheme": "dark", "has_touch": True, "is_mobile": True},
]
COMPOSE = """async sources => {
    const images = await Promise.all(sources.map(async source => createImageBitmap(await (await fetch(source)).blob())));
    const gap = 24;
    const canvas = document.createElement('canvas');
    canvas.width = images.reduce((sum, image) => sum + image.width, gap * (images.length - 1));
    canvas.height = images[0].height;
    const context = canvas.getContext('2d');
    let x = 0;
    for (const image of images) {
        context.save();
        context.beginPath();
        context.roundRect(x, 0, image.width, image.height, 16);
        context.clip();
        context.drawImage(image, x, 0);
        context.restore();
        context.strokeStyle = '#8888';
        context.stroke();
        x += image.width + gap;
    }
    return canvas.toDataURL('image/webp', 0.82);
}"""


def take(browser, screen):
    page = browser.new_context(**screen, reduced_motion="reduce").new_page()
    page.goto(f"{URL}/login")
    page.get_by_label("Name").fill(USER)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    if pathlib.Path(FILE).stem == "workout":
        page.locator("main.drawn").wait_for()
        page.goto(f"{URL}/history")
        page.locator("#list [href^='/workout/']").first.click()
        page.locator(".chart canvas").first.wait_for()
    else:
        page.locator("#resume").click()
        page.locator("#signal", has_text="Live").wait_for()
    page.locator(".route-line").first.wait_for(state="attached")
    page.locator("main.drawn").wait_for()
    picture = page.screenshot()
    close_all(page.context)
    return "data:image/png;base64," + base64.b64encode(picture).decode()


with chromium() as browser:
    pictures = [take(browser, screen) for screen in SCREENS]
    composed = browser.new_page().evaluate(COMPOSE, pictures)
    data = base64.b64decode(composed.partition(",")[2])
    if len(data) > LIMIT:
        raise SystemExit(f"{len(data)} bytes, more than {LIMIT}")
    pathlib.Path(FILE).write_bytes(data)
    print(f"{FILE}: {len(data)} bytes")
