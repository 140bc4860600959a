import assert from "node:assert/strict";
import {test} from "node:test";
import {joined} from "../../../Services/Dashboard/Web/modules/format.js";
import {drawingAfter, drawingAt, noDrawing} from "../../../Services/Dashboard/Web/modules/drawing.js";
import {announcementText, notices, offline} from "../../../Services/Dashboard/Web/modules/notices.js";
import {activeSeconds, freshness, noSession, receive, view} from "../../../Services/Dashboard/Web/modules/session.js";

const now = 1_800_000_000;
const state = {
  revision: 1,
  status: "active",
  activity: "running",
  name: "Outdoor Running",
  isLive: true,
  units: "metric",
  segments: [[now - 300, now - 200], [now - 100, null]],
  laps: [now - 150],
};
const metrics = {
  u: "anna",
  s: now * 1000,
  c: now - 1,
  n: 10,
  d: 2500,
  dp: 345,
  v: 3,
  h: 142,
  k: 31,
  ks: "device",
  cd: 170,
  w: 231,
  lp: 2,
  ld: 400
};

/** @param {...[string, any, number?]} events */
function session(...events) {
  return events.reduce((shown, [name, payload, at]) => receive(shown, name, payload, at ?? now), noSession());
}

/** @param {any} shown @param {number} [at] @param {"metric" | "imperial"} [units] */
function values(shown, at = now, units = "metric") {
  const {main, more} = view(shown, at, units);
  return Object.fromEntries([...main, ...more].map(({key, text}) => [key, joined(text)]));
}

test("the clock counts active segments and ticks while the last one is open", () => {
  assert.equal(activeSeconds(state, now), 200);
  assert.equal(activeSeconds(state, now + 5), 205);
  assert.equal(activeSeconds({segments: [[now - 300, now - 200]]}, now), 100);
});

test("a browser clock that is behind never shows negative time",
  () => { assert.equal(activeSeconds({segments: [[now, null]]}, now - 600), 0); });

test("the fourth value is the activity's", () => {
  const keys = Object.fromEntries(["running", "walking", "hiking", "cycling", "rowing", "traditionalStrength"].map(
    (activity) => [activity, view(session(["state", {...state, activity}]), now, "metric").main[3].key]));
  assert.deepEqual(keys, {
    running: "pace",
    walking: "pace",
    hiking: "heartRate",
    cycling: "speed",
    rowing: "heartRate",
    traditionalStrength: "heartRate",
  });
});

test("the title is time and distance", () => {
  assert.equal(view(session(["state", state], ["metrics", metrics]), now, "metric").title, "03:20 · 2.50 km");
  assert.equal(view(session(["state", state]), now, "metric").title, "03:20");
});

test("data is live below 8 s, weak to 15 s, then silent with its age", () => {
  const shown = session(["state", state], ["metrics", {...metrics, s: now * 1000, c: now}]);
  assert.equal(freshness(shown, now + 7.9).text, "Live");
  assert.equal(freshness(shown, now + 8).text, "Weak signal");
  assert.equal(freshness(shown, now + 14.9).text, "Weak signal");
  assert.equal(freshness(shown, now + 42).text, "No signal for 0:42");
  assert.equal(freshness(shown, now + 3700).text, "No signal for 1:01:40");
  assert.equal(freshness(session(["state", {...state, status: "paused"}]), now).signal, "none");
});

test("silence hides the values of the moment and keeps totals, dimmed", () => {
  const shown = session(["state", state], ["metrics", {...metrics, c: now}]);
  const before = values(shown, now + 5);
  assert.deepEqual(
    [before.pace, before.heartRate, before.power, before.cadence], ["5:45 /km", "142 bpm", "231 W", "170 spm"]);
  const after = values(shown, now + 20);
  assert.deepEqual([after.pace, after.heartRate, after.distance], ["--", "--", "2.50 km"]);
  assert.deepEqual([after.power, after.cadence, after.speed], ["--", "--", "--"]);
  assert.equal(view(shown, now + 20, "metric").main[1].isDimmed, true);
});

test("a workout that is not active shows averages in place of the last moment", () => {
  const last = {...metrics, ap: 304, ha: 131, b: 0.1, ds: {a: {c: now, b: 0.1}}};
  for (const status of ["paused", "suspended", "saving", "completed", "canceled"]) {
    const shown = session(["state", {...state, status}], ["metrics", last]);
    const {main, more, battery, devices} = view(shown, now, "metric");
    assert.deepEqual([main[3].label, joined(main[3].text)], ["Average pace", "5:04 /km"], status);
    assert.deepEqual(more.map(({key}) => key), ["averageHeartRate"], status);
    assert.deepEqual([battery !== undefined, devices.length],
      ["paused", "suspended"].includes(status) ? [true, 1] : [false, 0], status);
  }
});

test("a workout that is not active shows its average speed, whatever the activity", () => {
  const last = {...metrics, ha: 131, t: 190};
  for (const status of ["paused", "suspended", "saving", "completed", "canceled"]) {
    const segments = [[now - 300, now - 200], [now - 100, now]];
    for (const activity of ["cycling", "rowing", "hiking", "other"]) {
      const shown = values(session(["state", {...state, status, activity, segments}], ["metrics", last]), now + 60);
      assert.equal(shown.averageSpeed, "45.0 km/h", `${status} ${activity}`);
    }
    const onRoute = session(["state", {...state, status, activity: "cycling", segments}], ["route", {d: 1000}]);
    assert.equal(values(onRoute).averageSpeed, "18.0 km/h");
  }
  const active = session(["state", {...state, activity: "cycling"}], ["metrics", {...last, t: 250}]);
  assert.equal(values(active, now + 60).averageSpeed, "36.0 km/h");
  const strength =
    session(["state", {...state, status: "paused", activity: "hiit"}], ["metrics", {...last, d: undefined}]);
  assert.equal(values(strength).averageSpeed, undefined);
});

test("a workout without a heart rate has no average of it", () => {
  const last = {...metrics, ap: 304};
  const rowing = session(["state", {...state, status: "canceled", activity: "rowing"}], ["metrics", last]);
  assert.deepEqual([view(rowing, now, "metric").main[3].label, joined(view(rowing, now, "metric").main[3].text)],
    ["Average heart rate", "--"]);
});

test("splits do not evict laps and warnings", () => {
  const shown = session(["state", state], ["announcements", {kind: "lap", number: 1, at: now, distance: 1500}],
    ["announcements", {kind: "warning", at: now, text: "disk full"}],
    ...Array.from({length: 100},
      (_, number) => /** @type {[string, any]} */ (["announcements", {kind: "split", number, at: now}])));
  assert.equal(view(shown, now, "metric").laps[1].distance, "1.50 km");
  assert.equal(notices(shown, {}).length, 1);
  const warned = session(...Array.from({length: 100},
    (_, k) => /** @type {[string, any]} */ (["announcements", {kind: "warning", at: now + k, text: "disk full"}])));
  assert.equal(warned.announcements.length, 64);
});

test("a finished workout has the distances of laps that nothing announced to this page", () => {
  const shown = session(["state", {...state, status: "completed", laps: [now - 50]}], ["metrics", metrics],
    ["workout", {revision: 1, laps: [{distance: 1500}, {distance: 700}]}]);
  assert.deepEqual(view(shown, now, "metric").laps.map(({distance}) => distance), ["0.70 km", "1.50 km"]);
});

test("each service that is offline says what does not work, where it matters", () => {
  const none = Object.fromEntries(
    ["session-engine", "metrics-aggregator", "route-builder", "weather-fetcher", "virtual-run", "exporter"].map(
      (name) => [name, false]));
  /** @param {any} changes */
  const ids =
    (changes) => notices(session(["state", {...state, environment: "outdoor", ...changes}], ["services", none]),
      {}).map(({id}) => id);
  assert.deepEqual(ids({run: "r"}).sort(), Object.keys(none).sort());
  assert.deepEqual(
    ids({environment: "indoor"}).sort(), ["exporter", "metrics-aggregator", "route-builder", "session-engine"]);
  assert.deepEqual(offline({exporter: false, "route-builder": true}).map(({text}) => text),
    ["Finished workouts are not being exported at the moment."]);
  assert.deepEqual(offline({exporter: false}, "exporter"), []);
});

test("a message without new items is no sign of life", () => {
  const shown = session(["state", state], ["metrics", {...metrics, c: now}],
    ["metrics", {...metrics, s: (now + 16) * 1000, c: now, h: undefined}]);
  assert.equal(freshness(shown, now + 20).text, "No signal for 0:20");
  const again = receive(shown, "metrics", {...metrics, s: (now + 19) * 1000, n: 11}, now + 19);
  assert.equal(freshness(again, now + 20).text, "Live");
  // The metrics of a session that has only locations count none.
  const located = receive(shown, "metrics", {...metrics, s: (now + 19) * 1000, c: now + 18}, now + 19);
  assert.equal(freshness(located, now + 20).text, "Live");
});

test("a retained message tells its age by its newest item, corrected by the device's clock", () => {
  const retained = {...metrics, s: now * 1000, c: now - 60, ds: {"watch-1": {c: now - 60}}};
  assert.equal(freshness(session(["state", state], ["metrics", retained]), now).signal, "silent");
  const skewed = {...state, clockSkew: {"watch-1": -60}};
  assert.equal(freshness(session(["state", skewed], ["metrics", retained]), now).signal, "live");
});

test("a route is no sign of life beside metrics, whichever comes first, but alone it is", () => {
  const route = {s: now * 1000, c: now, n: 12, d: 2500};
  const old = {...metrics, s: (now - 20) * 1000, c: now - 20};
  for (const events of [[["route", route], ["metrics", old]], [["metrics", old], ["route", route]]])
    assert.equal(
      freshness(session(["state", state], .../** @type {any[]} */ (events)), now).text, "No signal for 0:20");
  assert.equal(freshness(session(["state", state], ["route", route]), now).signal, "live");
  assert.equal(freshness(session(["state", state], ["metrics", {s: 1}], ["route", route]), now).signal, "live");
});

test("a lower revision changes nothing", () => {
  const shown = session(["state", {...state, revision: 5}], ["metrics", metrics]);
  assert.equal(receive(shown, "state", {...state, revision: 4, status: "paused"}, now), shown);
  assert.equal(receive(shown, "metrics", {...metrics, s: 1}, now), shown);
});

test("any order and repetition of messages ends in the same values", () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`SEED=${seed} for any order`);
  let random = seed;
  const next = () => (random = (random * 48271) % 2147483647) / 2147483647;
  const sent = [1, 2, 3, 4].flatMap((k) => /** @type {[string, any][]} */ ([
    ["state", {...state, revision: k, name: `Run ${k}`}],
    ["metrics", {...metrics, s: (now - 4 + k) * 1000, n: k, d: k * 100}],
  ]));
  const expected = values(session(...sent));
  for (let round = 0; round < 200; round++) {
    const mixed = [...sent, ...sent]
                    .map((message) => ({message, key: next()}))
                    .sort((a, b) => a.key - b.key)
                    .map(({message}) => message);
    const shown = session(...mixed);
    assert.deepEqual(values(shown), expected);
    assert.equal(shown.state.name, "Run 4");
  }
});

test("a recording that is played back has the time of its newest item", () => {
  const shown = session(
    ["state", {...state, isLive: undefined, segments: [[now - 5000, null]]}], ["metrics", {...metrics, c: now - 4900}]);
  assert.equal(values(shown).duration, "01:40");
});

test("laps show their time, and the current one its distance", () => {
  const {laps} = view(session(["state", {...state, laps: [now - 50]}], ["metrics", metrics],
                        ["announcements", {kind: "lap", number: 1, at: now, distance: 1500}]),
    now, "metric");
  assert.deepEqual(laps, [
    {number: 2, isCurrent: true, time: "00:50", distance: "0.40 km"},
    {number: 1, isCurrent: false, time: "02:30", distance: "1.50 km"},
  ]);
});

test("an estimate is marked", () => {
  assert.equal(values(session(["state", state], ["metrics", {...metrics, ks: "mixed"}])).energy, "~31 kcal");
});

test("saving says after 15 s that one may leave", () => {
  const saving = {...state, status: "saving", revision: now * 1000};
  const shown = session(["state", saving, now]);
  assert.equal(view(shown, now + 15, "metric").saving, "short");
  assert.equal(view(shown, now + 16, "metric").saving, "long");
  // A later revision begins no new wait, and a page that opens late waits no longer.
  assert.equal(
    view(receive(shown, "state", {...saving, revision: (now + 9) * 1000}, now + 9), now + 16, "metric").saving, "long");
  assert.equal(view(receive(noSession(), "state", saving, now + 16), now + 16, "metric").saving, "long");
});

test("a countdown shows whole seconds until its end", () => {
  const shown = session(["state", {...state, status: "preparing", countdownEndsAt: now + 3}]);
  assert.deepEqual(
    [0, 0.5, 2.9, 3, 9].map((s) => view(shown, now + s, "metric").countdown), [3, 3, 1, undefined, undefined]);
});

test("an offline service, a banner and warnings are notices until dismissed", () => {
  const shown = session(["state", {...state, banner: "liveMetricsUnavailable"}],
    ["services", {"metrics-aggregator": false, "route-builder": true}],
    ["announcements", {kind: "warning", at: now, text: "disk full"}]);
  assert.deepEqual(notices(shown, {}).map(({id}) => id), ["metrics-aggregator", "banner", `warning-${now}`]);
  const dismissed = {...shown, dismissed: [`warning-${now}`]};
  assert.equal(notices(dismissed, {}).length, 2);
  assert.equal(notices(receive(shown, "services", {"metrics-aggregator": true}, now), {}).length, 2);
});

test("announcements are words", () => {
  assert.equal(announcementText({kind: "split", number: 3, unit: "km", duration: 271, averageHeartRate: 148}),
    "Kilometre 3 in 4:31, 148 bpm");
  assert.equal(announcementText({kind: "lap", number: 2, distance: 1000, duration: 280, pace: 280}),
    "Lap 2: 1.00 km in 4:40, 4:40 /km");
  assert.equal(announcementText({kind: "future", text: "Something new"}), "Something new");
});

test("battery is that of the emptiest device", () => {
  const low = {...metrics, ds: {a: {c: now, b: 0.9}, b: {c: now, b: 0.2}}};
  assert.deepEqual(
    view(session(["state", state], ["metrics", low]), now, "metric").battery, {text: "20 %", isLow: true});
});

/**
 * Draws 100 s with a clock that ticks at whole seconds. Returns how often the page drew from the tenth second on, how long metrics
 * waited at most, and how late the clock was.
 *
 * @param {[string, number][]} events with their milliseconds, in order
 */
function drawings(events, mayDelay = true) {
  let [drawing, count, wait, late] = [drawingAt(noDrawing, 1000, mayDelay), 0, 0, 0];
  /** @type {number[]} */
  let waiting = [];
  for (const [name, time] of [...events, ["", 100_000]]) {
    while (drawing.at <= Number(time)) {
      const {at} = drawing;
      if (at >= 10_000) {
        count++;
        wait = Math.max(wait, ...waiting.map((came) => at - came));
        late = Math.max(late, at - drawing.tickAt);
      }
      waiting = [];
      drawing = drawingAt(drawing, 1000 * Math.floor(at / 1000 + 1), mayDelay);
    }
    if (!name) continue;
    drawing = drawingAfter(drawing, String(name), Number(time));
    if (name === "metrics") waiting.push(Number(time));
  }
  return {count, wait, late};
}

test("a page draws once a second, whenever metrics and positions come", () => {
  for (let phase = 0; phase < 1000; phase += 50) {
    /** @type {[string, number][]} */
    const events = [];
    for (let second = 0; second < 99; second++) {
      const time = 1000 * second + phase + [0, 30, 10, 40][second % 4];
      events.push(["metrics", time], ["route", time + 300]);
    }
    events.sort(([, a], [, b]) => a - b);
    const {count, wait, late} = drawings(events);
    // At the seam between the two rules some seconds have two.
    assert.ok(count <= (phase < 750 || phase > 800 ? 92 : 140), `${phase}: ${count}`);
    assert.ok(wait <= 200 && late <= 950, `${phase}: ${wait}, ${late}`);
    assert.equal(drawings(events, false).late, 0);
  }
});

test("the clock of a page without metrics ticks in time, and a position alone waits for it", () => {
  assert.deepEqual(drawings([["metrics", 200], ["metrics", 1200], ["route", 20_300]]), {count: 91, wait: 0, late: 0});
});

test("a page whose clock stands still draws each event at once", () => {
  assert.equal(drawingAfter(noDrawing, "route", 5000).at, 5000);
  assert.equal(drawingAfter(noDrawing, "state", 5000).at, 5000);
});
