"""Measures a live page in Chromium: browser.py URL COOKIE PUBLISHED SECONDS.

PUBLISHED is the log of `fleet`: heart rates of the page's session, no two alike within 101 s, with the times of their
publishing. Prints `key=value`: quantiles of the time from publishing to the change of the page, which a MutationObserver
takes while the page is open for SECONDS; the cores that all of Chromium's processes use meanwhile; then, over slow 4G (400 ms
for each request) with a CPU slowed down four times, the first contentful paint, the first values, the layout shift and the
longest interaction of a visit: medians of five visits, and the worst shift.
"""

import os
import pathlib
import statistics
import sys

from playwright.sync_api import sync_playwright

URL, COOKIE, PUBLISHED, SECONDS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), float(sys.argv[4])
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SLOW_4G = {"offline": False, "latency": 400, "downloadThroughput": 200_000, "uploadThroughput": 94_000}
NAME, _, VALUE = COOKIE.removeprefix("Cookie: ").strip().partition("=")
OBSERVE_CHANGES = """() => {
    window.changes = [];
    let before = '';
    const row = () => [...document.querySelectorAll('.row, .cell')].find(row => row.firstElementChild.textContent === 'Heart rate');
    new MutationObserver(() => {
        const text = row()?.lastElementChild.textContent ?? '';
        if (text === before) return;
        before = text;
        window.changes.push([parseInt(text.trim()), (performance.timeOrigin + performance.now()) / 1000]);
    }).observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true });
}"""
OBSERVE_SPEED = """window.shift = 0;
window.interactions = [];
new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) window.shift += e.value; }))
    .observe({ type: 'layout-shift', buffered: true });
new PerformanceObserver(list => list.getEntries().forEach(e => window.interactions.push(e.duration)))
    .observe({ type: 'event', durationThreshold: 16, buffered: true });
function look() {
    const isShown = /\\d/.test(document.querySelector('main.drawn [data-key=distance] .number')?.textContent ?? '');
    if (isShown) window.values = performance.now() / 1000;
    else requestAnimationFrame(look);
}
requestAnimationFrame(look);"""

FIRST_VALUES = """() => new Promise(done => {
    const look = () => window.values === undefined ? requestAnimationFrame(look) : done(window.values);
    look();
})"""


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def cpu_seconds(root):
    """Of a process and all below it."""
    parents, times = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
        times[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    total, level = 0, {root}
    while level:
        total += sum(times.get(process, 0) for process in level)
        level = {process for process, parent in parents.items() if parent in level}
    return total


def chromium_process():
    children = pathlib.Path("/proc").glob("[0-9]*/cmdline")
    for path in children:
        try:
            words = path.read_text().split("\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if "chromium" in words[0] and not any(word.startswith("--type=") for word in words) and is_ours(parent):
            return int(path.parent.name)
    raise SystemExit("no process of Chromium")


def is_ours(process):
    while process > 1:
        if process == os.getpid():
            return True
        process = int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def open_context(browser, **options):
    context = browser.new_context(**options)
    context.add_cookies([{"name": NAME, "value": VALUE, "url": "/".join(URL.split("/")[:3])}])
    return context


def measure_latency(browser):
    page = open_context(browser, viewport={"width": 1280, "height": 800}).new_page()
    page.goto(URL)
    page.locator("main.drawn").wait_for()
    page.evaluate(OBSERVE_CHANGES)
    page.wait_for_timeout(2_000)
    process = chromium_process()
    before = cpu_seconds(process)
    page.wait_for_timeout(SECONDS * 1_000)
    cpu = (cpu_seconds(process) - before) / SECONDS
    changes = page.evaluate("window.changes")
    page.context.close()
    published = [line.split() for line in PUBLISHED.read_text().splitlines()]
    latencies = []
    # The first change may show what was retained.
    for rate, at in changes[1:]:
        times = [
            float(time)
            for published_rate, time in published
            if int(published_rate) == rate and -0.01 < at - float(time) < 90
        ]
        if times:
            latencies.append(at - times[-1])
    return latencies, cpu, len(changes) - 1


def measure_phone(browser):
    paints, values, shifts, interactions = [], [], [], []
    for _ in range(5):
        context = open_context(browser, **PHONE)
        page = context.new_page()
        page.add_init_script(OBSERVE_SPEED)
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW_4G)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.goto(URL)
        page.locator("main.drawn").wait_for()
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000)
        values.append(page.evaluate(FIRST_VALUES))
        for selector in [
            "#more summary",
            "#menu summary",
            "[data-choice=units] label:last-of-type input",
            "#menu summary",
            "#speak",
        ]:
            page.locator(selector).tap()
            page.wait_for_timeout(300)
        interactions.append(page.evaluate("Math.max(0, ...window.interactions)") / 1000)
        shifts.append(page.evaluate("window.shift"))
        context.close()
    return statistics.median(paints), statistics.median(values), max(shifts), statistics.median(interactions)


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    latencies, cpu, count = measure_latency(browser)
    paint, values, shift, interaction = measure_phone(browser)
    browser.close()
if not latencies:
    raise SystemExit(f"none of {count} changes of the page is in {PUBLISHED}")
print(
    f"browser_p50={quantile(latencies, 0.5):.4f} browser_p99={quantile(latencies, 0.99):.4f} changes={len(latencies)} "
    f"browser_cpu={cpu:.3f} paint={paint:.2f} values={values:.2f} shift={shift:.3f} interaction={interaction:.3f} lost=0"
)
