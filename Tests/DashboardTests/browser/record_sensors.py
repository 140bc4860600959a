"""A phone's browser records Bluetooth sensors, which Chromium emulates, and survives the end of each process of the server."""

import base64
import contextlib
import datetime
import math
import os
import pathlib
import re
import signal
import xml.etree.ElementTree

from playwright.sync_api import Error

from browser import ARGUMENTS, PROGRAM, Faults, chromium, close_all, with_timeout, screenshot
from record import SERVICES, STEP, Phone, saved
from system import System
from world import wait

ADDRESS = "09:09:09:09:09:09"
HEART_RATE, BATTERY = "180d", "180f"
LOST = ("ERR_", "WebSocket connection", "with a status of 502")
# The emulation answers reads, which browsers show a page as they show it a notification.
REMEMBER = """const start = BluetoothRemoteGATTCharacteristic.prototype.startNotifications;
window.notifying = {};
BluetoothRemoteGATTCharacteristic.prototype.startNotifications = function() {
    window.notifying[this.uuid.slice(4, 8)] = this;
    return start.call(this);
};"""


def uuid(number):
    return f"0000{number}-0000-1000-8000-00805f9b34fb"


class Strap:
    """A strap with heart rate and battery, by Chromium's emulation of Bluetooth."""

    def __init__(self, browser, page):
        self.page, self.cdp, self.picked, self.values = page, browser.new_browser_cdp_session(), set(), {}
        self.ids = {}
        self.prompts = page.context.new_cdp_session(page)
        self.send("enable", state="powered-on", leSupported=True)
        self.send(
            "simulatePreconnectedPeripheral", name="HRM", manufacturerData=[], knownServiceUuids=[uuid(HEART_RATE)]
        )
        self.prompts.send("DeviceAccess.enable")
        self.prompts.on("DeviceAccess.deviceRequestPrompted", self.pick)
        self.cdp.on("BluetoothEmulation.gattOperationReceived", self.answer)
        self.cdp.on("BluetoothEmulation.characteristicOperationReceived", self.answer_characteristic)
        page.context.add_init_script(REMEMBER)

    def send(self, command, **fields):
        if command not in ("enable", "addCharacteristic", "addDescriptor", "simulateCharacteristicOperationResponse"):
            fields["address"] = ADDRESS
        return self.cdp.send(f"BluetoothEmulation.{command}", fields)

    def pick(self, prompt):
        if prompt["devices"] and prompt["id"] not in self.picked:
            self.picked.add(prompt["id"])
            self.prompts.send("DeviceAccess.selectPrompt", {"id": prompt["id"], "deviceId": prompt["devices"][0]["id"]})

    def answer(self, operation):
        # They vanish with each connection.
        if operation["type"] == "connection":
            for service, characteristic, first in [(HEART_RATE, "2a37", [0, 60]), (BATTERY, "2a19", [80])]:
                found = self.send(
                    "addCharacteristic",
                    serviceId=self.send("addService", serviceUuid=uuid(service))["serviceId"],
                    characteristicUuid=uuid(characteristic),
                    properties={"notify": True, "read": True},
                )["characteristicId"]
                self.send("addDescriptor", characteristicId=found, descriptorUuid=uuid("2902"))
                self.ids[characteristic], self.values[found] = found, first
        self.send("simulateGATTOperationResponse", type=operation["type"], code=0)

    def answer_characteristic(self, operation):
        found = operation["characteristicId"]
        data = {"data": base64.b64encode(bytes(self.values[found])).decode()} if operation["type"] == "read" else {}
        self.send(
            "simulateCharacteristicOperationResponse", characteristicId=found, type=operation["type"], code=0, **data
        )

    def beat(self, rate):
        self.values[self.ids["2a37"]] = [0x10, rate, 0x00, 0x02]
        self.page.evaluate("() => window.notifying['2a37'].readValue().then(() => {})")


def sensors(system, browser, faults):
    """A strap is a device of its own, and connects again when it comes back."""
    phone = Phone(system, browser, faults)
    page = phone.page
    strap = Strap(browser, page)
    page.reload()
    page.locator("#connect-sensor").click()
    page.locator("#sensor-list", has_text="battery 80 %").wait_for()
    strap.beat(120)
    page.locator("#sensor-list", has_text="120 bpm").wait_for()
    faults.look(page, "with a sensor")
    screenshot(page, "record-sensor")
    phone.start()
    for rate in (130, 140, 150):
        strap.beat(rate)
        phone.move(1)
    page.locator("[data-key=energy] .number", has_text="150").wait_for()
    strap.send("simulateGATTDisconnection")
    page.locator("#sensor-list", has_text="no connection").wait_for()
    page.locator("#sensor-list", has_text="battery 80 %").wait_for()
    strap.beat(160)
    page.locator("[data-key=energy] .number", has_text="160").wait_for()
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    workout = saved(system, faults, 3)
    streams = [name for name in workout["next"] if re.fullmatch("samples/strap-[0-9a-f]{8}", name)]
    faults.expect(len(streams) == 1, f"the streams are {workout['next']}")
    faults.expect(workout["maximumHeartRate"] == 160, f"the maximum is {workout.get('maximumHeartRate')}")
    close_all(phone.context)
    faults.found[:] = [fault for fault in faults.found if "experimental on this platform" not in fault]


def kills(system, browser, faults):
    """Each process of the server ends during the recording, and nothing of the workout is missing."""
    found = list(faults.found)
    phone = Phone(system, browser, faults)
    phone.start()
    phone.move(3)
    processes = {"dashboard": system.dashboard, "broker": system.broker, **system.running}
    for name in ("dashboard", "broker", "metrics-aggregator", "route-builder", "session-engine"):
        processes[name].kill()
        phone.move(3)
        if name == "session-engine":
            phone.press("Pause")
            phone.page.locator("#status", has_text="Paused").wait_for()
            phone.press("Resume")
            phone.move(3)
        processes[name].start()
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    workout = saved(system, faults, 21)
    faults.expect(len(workout["segments"]) == 2, f"segments are {workout['segments']}")
    close_all(phone.context)
    # What the browser logs of lost connections is no fault.
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if not any(text in fault for text in LOST)]


class InstalledPhone(Phone):
    """A phone whose browser has a profile on the disk."""

    def launch(self, browser):
        self.type, self.profile = browser.browser_type, self.system.folder / "profile"
        self.begin()

    def begin(self):
        self.context = with_timeout(
            self.type.launch_persistent_context(self.profile, executable_path=PROGRAM, args=ARGUMENTS, **self.options)
        )
        self.system.log_in(self.context, self.user)
        self.context.grant_permissions(["geolocation"], origin=self.system.url)
        self.page = self.open()

    def kill(self):
        """All processes of the browser end at once."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str(self.profile).encode() in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        with contextlib.suppress(Error):
            self.context.close()


def killed_browser(system, browser, faults):
    """A killed browser loses neither positions nor a press of a moment ago."""
    found = list(faults.found)
    phone = InstalledPhone(system, browser, faults, "emil")
    phone.start()
    phone.move(4)
    phone.kill()
    phone.begin()
    phone.page.locator("#recorder").wait_for()
    phone.move(2)
    system.broker.kill()
    phone.press("Pause")
    phone.page.locator("#status", has_text="Paused").wait_for()
    phone.kill()
    system.broker.start()
    phone.begin()
    phone.page.locator("#status", has_text="Paused").wait_for()
    kept = phone.kept()
    phone.end()
    phone.is_saved()
    workout = saved(system, faults, 7, "emil")
    counts = [count for name, count in workout["next"].items() if name.startswith("locations/phone-")]
    faults.expect(counts == [kept] and kept >= 7, f"of {kept} positions, the workout has {workout['next']}")
    close_all(phone.context)
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if not any(text in fault for text in LOST)]


def full(system, browser, faults):
    """A full storage is said, and what matters waits in memory until there is room."""
    phone = Phone(system, browser, faults)
    phone.start()
    phone.move(3)
    # Chromium applies no quota of its tools to the private windows of tests.
    phone.page.evaluate(
        """() => {
            const add = IDBObjectStore.prototype.add;
            window.isFull = true;
            IDBObjectStore.prototype.add = function(...values) {
                if (window.isFull) throw new DOMException('full', 'QuotaExceededError');
                return add.apply(this, values);
            };
        }"""
    )
    kept = phone.kept()
    for _ in range(20):
        phone.moved += STEP
        phone.place()
        phone.page.wait_for_timeout(400)
    phone.page.locator("#notices", has_text="storage is full").wait_for()
    faults.expect(phone.kept() == kept, "items are kept without room")
    phone.press("Pause")
    phone.page.evaluate("() => { window.isFull = false; }")
    phone.page.locator("#notices", has_text="storage is full").wait_for(state="detached")
    faults.expect(0 < phone.kept() - kept <= 5, f"of 20 positions in 8 s, {phone.kept() - kept} are kept")
    phone.end()
    phone.is_saved()
    saved(system, faults, 23, positions=4)
    close_all(phone.context)


# A page that lives at the time of a recording. Its positions come with that time, as fast as the page takes them.
PLAY = """const watchers = new Set();
const [parse, json, now] = [JSON.parse, Response.prototype.json, Date.now];
Date.now = () => Number(localStorage.getItem('played') ?? now());
JSON.parse = (...values) => {
    const value = parse(...values);
    // The server's clock has another time.
    if (typeof value?.now === 'number') delete value.now;
    return value;
};
Response.prototype.json = async function() {
    const value = await json.call(this);
    return typeof value?.now === 'number' ? {...value, now: Date.now() / 1000} : value;
};
Geolocation.prototype.watchPosition = (receive) => (watchers.add(receive), 1);
Geolocation.prototype.clearWatch = () => watchers.clear();
window.play = async (points) => {
    for (const {time, ...place} of points) {
        localStorage.setItem('played', time);
        const unknown = {altitudeAccuracy: null, heading: null, speed: null};
        for (const receive of watchers) receive({timestamp: time, coords: {accuracy: 1, ...unknown, ...place}});
        await new Promise(setTimeout);
    }
};"""


# Activity and user who records; `device replay` plays the same points as those of the next user.
RECORDINGS = {
    "run-8km.gpx": ("running", "carla", "dora"),
    "walk-700m.fit": ("walking", "ben", "paul"),
    "ride-39km-with-pauses.fit": ("cycling", "runner-01", "cleo"),
}
# Seconds: a longer time between two positions is a rest. Start and Resume are pressed before the first position.
REST, EARLY = 30, 20
NAMESPACE = "http://www.topografix.com/GPX/1/1"


def points_of(recording):
    """Positions of a GPX or FIT file, with milliseconds."""
    if recording.suffix == ".fit":
        return list(points_of_fit(recording))
    names = {"": NAMESPACE}
    points = xml.etree.ElementTree.parse(recording).iterfind(".//trkpt", names)
    return [
        position(
            datetime.datetime.fromisoformat(point.findtext("time", namespaces=names).replace("Z", "+00:00")),
            float(point.get("lat")),
            float(point.get("lon")),
            float(point.findtext("ele", namespaces=names)),
        )
        for point in points
    ]


def points_of_fit(recording):
    import fitdecode

    degrees = 180 / 2**31
    with fitdecode.FitReader(recording) as reader:
        for record in reader:
            if not isinstance(record, fitdecode.FitDataMessage) or record.name != "record":
                continue
            values = {field.name: field.value for field in record.fields}
            if values.get("position_lat") is None:
                continue
            altitude = values.get("altitude")
            yield position(
                values["timestamp"], values["position_lat"] * degrees, values["position_long"] * degrees, altitude
            )


def position(time, latitude, longitude, altitude):
    """As the recorder rounds it."""
    known = {} if altitude is None else {"altitude": round(altitude, 2)}
    place = {"latitude": round(latitude, 7), "longitude": round(longitude, 7), **known}
    return {"time": round(time.timestamp() * 1000), **place}


def pieces_of(points):
    """Sixths, and shorter ones where a rest begins. Each has the seconds of the rest before it."""
    size = math.ceil(len(points) / 6)
    pieces = []
    for before, point in zip([points[0], *points], points, strict=False):
        rest = (point["time"] - before["time"]) / 1000
        if not pieces or rest > REST or len(pieces[-1][1]) == size:
            pieces.append((rest if rest > REST else 0, []))
        pieces[-1][1].append(point)
    return pieces


def write_gpx(pieces, file):
    gpx = xml.etree.ElementTree.Element("gpx", {"xmlns": NAMESPACE, "version": "1.1", "creator": "Pacebus"})
    track = xml.etree.ElementTree.SubElement(gpx, "trk")
    for rest, points in pieces:
        # A new part begins after a pause.
        if rest or len(track) == 0:
            part = xml.etree.ElementTree.SubElement(track, "trkseg")
        for point in points:
            place = {"lat": str(point["latitude"]), "lon": str(point["longitude"])}
            made = xml.etree.ElementTree.SubElement(part, "trkpt", place)
            if "altitude" in point:
                xml.etree.ElementTree.SubElement(made, "ele").text = str(point["altitude"])
            time = datetime.datetime.fromtimestamp(point["time"] / 1000, datetime.UTC)
            xml.etree.ElementTree.SubElement(made, "time").text = time.isoformat().replace("+00:00", "Z")
    xml.etree.ElementTree.ElementTree(gpx).write(file)


def recordings(system, browser, faults):
    """A real run, walk and ride, with a crash after each sixth and offline in between, equal the same points replayed."""
    folder = os.environ.get("RECORDINGS_DIR")
    if not folder:
        return print(f"skipped: RECORDINGS_DIR names no folder with {', '.join(RECORDINGS)}")
    found = list(faults.found)
    for name, (activity, user, other) in RECORDINGS.items():
        pieces = pieces_of(points_of(pathlib.Path(folder) / name))
        workout = play(system, browser, faults, user, activity, pieces)
        file = system.folder / "points.gpx"
        write_gpx(pieces, file)
        system.replay(other, file, "--without-distance", "--activity", activity)
        replayed = system.newest_workout(other)
        rests = sum(rest > 0 for rest, _ in pieces)
        limits = {"distance": 0.5, "activeDuration": (1 + rests) * (1 + EARLY), "ascent": 0.5, "startedAt": 1 + EARLY}
        for key, tolerance in limits.items():
            pair = workout.get(key, 0), replayed.get(key, 0)
            faults.expect(abs(pair[0] - pair[1]) <= tolerance, f"{name}: {key} is {pair[0]}, replayed {pair[1]}")
        segments = len(workout["segments"]), len(replayed["segments"])
        faults.expect(segments == (rests + 1, rests + 1), f"{name}: segments are {segments}, with {rests} rests")
        print(
            f"{name}: {workout['distance']:.2f} m in {workout['activeDuration']:.1f} s,"
            f" replayed {replayed['distance']:.2f} m in {replayed['activeDuration']:.1f} s"
        )
    faults.found[:] = found + [fault for fault in faults.found[len(found) :] if not any(text in fault for text in LOST)]


def play(system, browser, faults, user, activity, pieces):
    """The workout of positions that a page records, with a pause at each rest."""
    phone = Phone(system, browser, faults, user)
    phone.context.add_init_script(PLAY)

    def set_clock(time):
        # A page takes its clock when it is loaded.
        phone.page.evaluate("time => localStorage.setItem('played', time)", time)

    set_clock(pieces[0][1][0]["time"] - EARLY * 1000)
    phone.page.reload()
    phone.start(activity)
    count = 0
    for index, (rest, points) in enumerate(pieces):
        if rest:
            phone.press("Pause")
            phone.page.locator("#toggle", has_text="Resume").wait_for()
            set_clock(points[0]["time"] - EARLY * 1000)
            phone.page.reload()
            phone.press("Resume")
            phone.page.locator("#toggle", has_text="Pause").wait_for()
        count += len(points)
        is_offline = index in (1, 3)
        if is_offline:
            phone.context.set_offline(True)
            # Chromium keeps connections that it has.
            system.broker.kill()
        phone.page.evaluate("points => window.play(points)", points)
        wait(lambda: phone.kept() == count, "all positions are kept")
        if is_offline:
            system.broker.start()
            phone.context.set_offline(False)
        set_clock(points[-1]["time"] + 50)
        phone.crash()
    phone.press("Pause")
    phone.end()
    phone.is_saved()
    close_all(phone.context)
    return system.newest_workout(user)


SCENARIOS = [sensors, kills, killed_browser, full, recordings]

if __name__ == "__main__":
    with System(*SERVICES) as system, chromium("--enable-features=WebBluetooth") as browser:
        faults = Faults(system)
        for scenario in SCENARIOS:
            if scenario.__name__.startswith(tuple(os.environ.get("ONLY", "").split(","))):
                scenario(system, browser, faults)
        faults.finish()
