"""The page *Import* with the real importer: files and archives become workouts, each once, whatever is killed meanwhile."""

import csv
import gzip
import io
import math
import os
import pathlib
import random
import re
import tempfile
import time
import zipfile

from browser import ARGUMENTS, DESKTOP, PHONE, PROGRAM, Faults, chromium, close_all, open_page, with_timeout, screenshot
from faults import kill_browser
from system import System
from world import wait

SERVICES = ["session-engine", "metrics-aggregator", "route-builder", "importer"]
RECORDINGS = os.environ.get("RECORDINGS_DIR")
# What Chromium logs while a server is away.
LOST = ("ERR_", "WebSocket connection", "with a status of 502")


def gpx(start, seconds=300, speed=3.0, name="Run"):
    """A recording along a circle, a point each second."""
    points = []
    for second in range(seconds + 1):
        angle = second * speed / 1000
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start + second))
        latitude, longitude = 52 + math.sin(angle) * 0.009, 13 + math.cos(angle) * 0.0146
        points.append(f'<trkpt lat="{latitude:.7f}" lon="{longitude:.7f}"><ele>40</ele><time>{at}</time></trkpt>')
    return (
        '<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="test"><trk>'
        f"<name>{name}</name><type>running</type><trkseg>{''.join(points)}</trkseg></trk></gpx>"
    ).encode()


def strava(count, first, seconds=120):
    """An archive as Strava makes them, with a workout each day, and one that was typed in."""
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(["Activity ID", "Activity Date", "Activity Name", "Activity Type", "Filename"])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(count):
            start = first + number * 86_400
            date = time.strftime("%b %-d, %Y, %-I:%M:%S %p", time.gmtime(start))
            name = f"activities/{1000 + number}.gpx.gz"
            rows.writerow([1000 + number, date, f"Day {number + 1}, easy", "Run", name])
            archive.writestr(name, gzip.compress(gpx(start, seconds)))
        rows.writerow([1, "Jan 1, 2024, 8:00:00 AM", "Yoga", "Yoga", ""])
        archive.writestr("activities.csv", table.getvalue())
        archive.writestr("media/photo.jpg", b"\xff\xd8")
    return file.getvalue()


def open_import(system, browser, faults, user, device=DESKTOP):
    page = open_page(system, browser, faults, "/import", user, device)
    page.locator("main.drawn").wait_for()
    return page


def give(page, *files):
    """Chooses files: paths, or names with their bytes."""
    page.locator("#files").set_input_files(
        [file if isinstance(file, str) else {"name": file[0], "mimeType": "", "buffer": file[1]} for file in files]
    )


def drop(page, name, data):
    """Drops a file onto the page."""
    page.evaluate(
        """([name, data]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([Uint8Array.from(data)], name));
            for (const type of ["dragenter", "dragover", "drop"])
                document.body.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        [name, list(data)],
    )


def imported(page, text):
    page.locator("#done-title", has_text=text).wait_for()


def history(system, user):
    """The user's workouts with their totals, without the ids of their sessions."""
    lines = system.pacebus(user, "history", "--limit", "100").splitlines()
    return [line[36:] for line in lines]


def noon(days_ago):
    return (int(time.time()) // 86_400 - days_ago) * 86_400 + 12 * 3600


def one_file(system, browser, faults):
    """A dropped file is a workout, whose page opens."""
    page = open_import(system, browser, faults, "anna", PHONE)
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme)
        screenshot(page, f"import-empty-phone-{theme}")
        faults.look(page, f"import-empty-{theme}")
    drop(page, "evening.gpx", gpx(noon(3), 600))
    page.wait_for_url("**/workout/anna/*")
    page.locator("main.drawn", has_text="1.80").wait_for()
    screenshot(page, "import-opened-phone")
    # The same file again is the same workout.
    path = page.url
    page.goto(system.url + "/import")
    imported(page, "1 file imported")
    drop(page, "evening.gpx", gpx(noon(3), 600))
    page.wait_for_url(path)
    faults.expect(len(history(system, "anna")) == 1, "the same file is two workouts")
    close_all(page.context)


def recordings(system, browser, faults):
    """All recordings, chosen at once, are the workouts that `device replay` makes of them."""
    if not RECORDINGS:
        return print("recordings: skipped, RECORDINGS_DIR is not set")
    files = sorted(str(file) for file in pathlib.Path(RECORDINGS).iterdir())
    page = open_import(system, browser, faults, "ben")
    give(page, *files)
    imported(page, f"{len(files)} files imported")
    screenshot(page, "import-recordings")
    for file in files:
        system.replay("carla", file)
    # A GPX file may name its workout, which a device does not read.
    ours, others = (
        [re.sub(r"(\d\d:\d\d)  [^:]+:", r"\1:", line) for line in history(system, user)] for user in ("ben", "carla")
    )
    faults.expect(ours == others, f"imported totals differ from replayed ones: {set(ours) ^ set(others)}")
    links = page.locator("#done a").count()
    faults.expect(links == len(history(system, "ben")) > len(files), f"{links} links")
    page.locator("#done a", has_text="run-5km").click()
    page.locator(".chart canvas, #charts canvas").first.wait_for()
    screenshot(page, "import-chart")
    close_all(page.context)


def archive(system, browser, faults, count=40):
    """An archive goes in over a reload, kill -9 of importer, and kill -9 of the browser; each workout is there once."""
    found = list(faults.found)
    folder = tempfile.mkdtemp(prefix="pacebus-browser-")
    generator = random.Random(seed := int(os.environ.get("SEED", random.randrange(1 << 32))))
    print(f"SEED={seed} for archive()")

    def start():
        context = with_timeout(
            browser.browser_type.launch_persistent_context(folder, executable_path=PROGRAM, args=ARGUMENTS, **DESKTOP)
        )
        system.log_in(context, "dora")
        page = context.pages[0]
        faults.watch(page)
        page.goto(system.url + "/import")
        page.locator("main.drawn").wait_for()
        return page

    def done(page):
        text = page.locator("#progress-title").text_content() or ""
        match = re.search(r"([\d,]+) of", text)
        return int(match[1]) if match else count if page.locator("#progress-part").is_hidden() else 0

    page = start()
    give(page, ("export.zip", strava(count, noon(count + 10))))
    page.get_by_role("heading", name="Strava").wait_for()
    page.locator(".finding", has_text=f"{count} workouts from").wait_for()
    page.locator(".finding summary", has_text="left out").click()
    page.locator(".finding", has_text="typed in").wait_for()
    screenshot(page, "import-found")
    faults.look(page, "import-found")
    page.get_by_role("button", name=f"Import {count} workouts").click()
    page.locator("#progress-title", has_text=re.compile(f"of {count} files")).wait_for()
    screenshot(page, "import-running")
    faults.look(page, "import-running")
    for share, what in [(0.2, "reload"), (0.35, "importer"), (0.5, "browser"), (0.65, "importer"), (0.8, "browser")]:
        wait(lambda share=share: done(page) >= min(count * share, count - 2), f"{share} are imported")
        page.wait_for_timeout(generator.randrange(300))
        if what == "reload":
            page.reload()
        elif what == "importer":
            system.running["importer"].kill()
            system.running["importer"].start()
        else:
            kill_browser(folder)
            page = start()
        page.locator("main.drawn").wait_for()
    imported(page, f"{count} files imported")
    faults.expect(page.locator("#refused-part").is_hidden(), "files were refused")
    lines = history(system, "dora")
    faults.expect(
        len(lines) == count and len(set(lines)) == count, f"{len(lines)} workouts, {len(set(lines))} different"
    )
    faults.expect(all("Day " in line for line in lines), f"names are lost: {lines[:2]}")
    with page.expect_download() as started:
        page.get_by_role("button", name="Save a report").click()
    report = list(csv.reader(io.StringIO(started.value.path().read_text())))
    faults.expect(len(report) == count + 1 and {row[4] for row in report[1:]} == {"done"}, f"report: {report[:3]}")
    page.get_by_role("button", name="Clear the list").click()
    page.locator("#done-part").wait_for(state="hidden")
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if not any(text in fault for text in LOST)]
    close_all(page.context)


def questions(system, browser, faults):
    """A file like a workout that is there is asked about. One that is no workout is refused with what to do."""
    page = open_import(system, browser, faults, "emil", PHONE)
    starts = [noon(day) for day in (2, 4, 6, 8)]
    give(page, *[(f"{number}.gpx", gpx(start)) for number, start in enumerate(starts)])
    imported(page, "4 files imported")
    give(page, *[(f"{number} again.gpx", gpx(start + 20, 305)) for number, start in enumerate(starts[:3])])
    page.locator("#questions-title", has_text="3 questions").wait_for()
    for theme in ["light", "dark"]:
        page.emulate_media(color_scheme=theme)
        screenshot(page, f"import-questions-{theme}")
        faults.look(page, f"import-questions-{theme}")
    page.locator("#questions li", has_text="0 again").get_by_role("button", name="Import it too").click()
    imported(page, "5 files imported")
    page.locator("#for-all").check()
    page.locator("#questions li", has_text="1 again").get_by_role("button", name="Skip this file").click()
    imported(page, "5 files imported, 2 skipped")
    # Of what follows nothing is asked.
    give(page, ("3 again.gpx", gpx(starts[3] + 20, 305)), ("5.gpx", gpx(noon(12))))
    imported(page, "6 files imported, 3 skipped")
    faults.expect(len(history(system, "emil")) == 6, "a skipped file is a workout")
    # Bad files.
    picture = pathlib.Path(__file__).with_name("live.webp").read_bytes()
    whole = gpx(noon(10), 900)
    give(
        page,
        ("photo.webp", picture),
        ("empty.fit", b""),
        ("words.gpx", b"<gpx>words</gpx>"),
        ("cut.gpx", whole[: len(whole) // 2]),
    )
    page.locator(".finding", has_text="photo.webp").wait_for()
    page.locator("#refused-title", has_text="2 files refused").wait_for()
    for name in ("empty.fit", "words.gpx"):
        reason = page.locator("#refused li", has_text=name).locator("p").text_content()
        faults.expect(len(reason) > 15 and reason.endswith((".", "!")), f"{name} is refused with '{reason}'")
    imported(page, "7 files imported, 3 skipped")
    page.locator("#done li", has_text="cut off").wait_for()
    screenshot(page, "import-refused")
    faults.look(page, "import-refused")
    page.get_by_role("button", name="OK", exact=True).click()
    close_all(page.context)


def away(system, browser, faults):
    """Without importer the page says so and continues; a pause holds over a reload; another tab follows; cancel removes."""
    page = open_import(system, browser, faults, "paul")
    system.running["importer"].kill()
    give(page, *[(f"{number}.gpx", gpx(noon(20 + number))) for number in range(3)])
    page.locator("#progress-now", has_text="No answer from importer yet").wait_for()
    screenshot(page, "import-away")
    other = page.context.new_page()
    faults.watch(other)
    other.goto(system.url + "/import")
    other.locator("#progress-now", has_text="Another tab sends them.").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.locator("#progress-title", has_text="Paused").wait_for()
    page.reload()
    page.locator("#progress-title", has_text="Paused: 0 of 3 files").wait_for()
    system.running["importer"].start()
    # The other tab continues, and this one follows.
    other.get_by_role("button", name="Continue").or_(other.get_by_role("button", name="Pause")).first.wait_for()
    page.get_by_role("button", name="Continue").click()
    imported(page, "3 files imported")
    imported(other, "3 files imported")
    system.running["importer"].kill()
    give(page, ("4.gpx", gpx(noon(30))))
    page.locator("#progress-title", has_text="3 of 4 files").wait_for()
    page.get_by_role("button", name="Cancel the rest").click()
    page.locator("#progress-part").wait_for(state="hidden")
    system.running["importer"].start()
    page.reload()
    imported(page, "3 files imported")
    faults.expect(len(history(system, "paul")) == 3, "a canceled file is a workout")
    close_all(page.context)


SCENARIOS = [one_file, recordings, archive, questions, away]

if __name__ == "__main__":
    with System(*SERVICES) as system, chromium() as browser:
        faults = Faults(system)
        for scenario in SCENARIOS:
            if scenario.__name__.startswith(tuple(os.environ.get("ONLY", "").split(","))):
                begun = time.monotonic()
                scenario(system, browser, faults)
                print(f"{scenario.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        faults.finish()
