import assert from "node:assert/strict";
import {test} from "node:test";
import {joined, when} from "../../../Services/Dashboard/Web/modules/format.js";
import {names} from "../../../Services/Dashboard/Web/modules/people.js";
import {entry, ghosts, overview, proposal, rematch} from "../../../Services/Dashboard/Web/modules/run-form.js";
import {advance, gapLine, gapText, link} from "../../../Services/Dashboard/Web/modules/run-lanes.js";
import {routes, zonePieces} from "../../../Services/Dashboard/Web/modules/run-map.js";
import {routesText, splitTable} from "../../../Services/Dashboard/Web/modules/run-results.js";
import {invitations, terms, title} from "../../../Services/Dashboard/Web/modules/run-status.js";
import {noRun, receive, runView} from "../../../Services/Dashboard/Web/modules/virtual-run.js";

const now = 1_800_000_000;
const id = "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07";
const session = "1b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07";
const anna = {
  user: "anna",
  status: "running",
  at: now - 300,
  startsAt: now - 300,
  sharing: {},
  session
};
const ben = {
  user: "ben",
  status: "running",
  at: now - 300,
  startsAt: now - 300,
  sharing: {}
};
const view = {
  run: id.toUpperCase(),
  user: "anna",
  revision: 5,
  status: "running",
  host: "anna",
  start: "together",
  clock: "active",
  countdown: 3,
  lateJoin: true,
  goal: {distance: 5000},
  createdAt: now - 400,
  startsAt: now - 300,
  participants: [anna, ben],
  ghosts: [],
};
const row = {
  u: "ben",
  st: "connected",
  a: 1,
  d: 1029,
  v: 3,
  p: 330,
  h: 151,
  t: 300,
  gm: 29,
  gs: 9
};
const partners = {
  r: id,
  s: 9,
  now,
  pl: 2,
  d: 1000,
  t: 300,
  x: [row]
};

/** @param {...[string, any]} events */
const shown = (...events) => events.reduce((run, [name, payload]) => receive(run, name, payload), noRun(id));

/** @param {any} run @param {number} [at] */
const drawn = (run, at = now) => /** @type {any} */ (runView(advance(run, at), at, {}));

/** @param {any} changes @param {...any} participants */
const waiting = (changes, ...participants) => drawn(shown([
  "view", {
    ...view,
    startsAt: undefined,
    ...changes,
    participants: participants.map((p, index) => ({...[anna, ben][index], startsAt: undefined, ...p}))
  }
]));

test("an older view or message changes nothing, nor does one of another run", () => {
  const run = shown(["view", view], ["partners", partners]);
  assert.equal(receive(run, "view", {...view, revision: 4, status: "starting"}), run);
  assert.equal(receive(run, "partners", {...partners, s: 8, x: []}), run);
  assert.equal(receive(run, "view", {...view, run: session, revision: 9}), run);
  assert.equal(receive(run, "metrics", {s: 1, d: 7}), run);
});

test("an invitation offers Accept and Decline, until it expires", () => {
  const invited = {
    ...view,
    status: "inviting",
    host: "ben",
    expiresAt: now + 60,
    participants: [{...anna, status: "invited"}, {...ben, status: "accepted"}]
  };
  const [item] = invitations([invited], now, {});
  assert.deepEqual(
    [item.kind, item.text, item.detail], ["invited", "ben invites you to a virtual run", "5.00 km · active time"]);
  assert.deepEqual(item.choices.map(({type}) => type), ["accept", "decline"]);
  assert.deepEqual(invitations([invited], now + 60, {}), []);
  assert.deepEqual(invitations([{...invited, status: "canceled"}], now, {}), []);
});

test("Go shows the seconds left, and what is to confirm comes before invitations", () => {
  const confirming = {
    ...view,
    status: "confirming",
    confirmBy: now + 46.2,
    participants: [{...anna, status: "accepted"}, {...ben, status: "confirmed"}]
  };
  const invited = {...view, run: session, status: "inviting", participants: [{...anna, status: "invited"}, ben]};
  const items = invitations([invited, confirming], now, {});
  assert.deepEqual(items.map(({kind}) => kind), ["go", "invited"]);
  assert.equal(items[0].detail, "0:47 left to confirm");
  const {waiting: ready} = drawn(shown(["view", confirming]));
  assert.deepEqual([ready.text, ready.left, ready.choices.map((/** @type {any} */ c) => c.label)],
    ["Ready to run?", "0:47", ["Go", "Cancel run"]]);
});

test("who has confirmed waits for the others; the host can cancel, a guest can leave", () => {
  const parts = [{status: "confirmed"}, {status: "accepted"}];
  const host = waiting({status: "confirming", confirmBy: now + 47}, ...parts).waiting;
  assert.deepEqual([host.text, host.left, host.choices[0].type], ["Waiting for ben", "0:47", "cancel"]);
  const guest = waiting({status: "confirming", host: "ben", confirmBy: now + 47}, ...parts).waiting;
  assert.deepEqual(guest.choices.map((/** @type {any} */ c) => c.type), ["leave"]);
});

test("the host begins once an invited person accepted", () => {
  const types = (/** @type {string} */ status) =>
    waiting({status: "inviting"}, {status: "accepted"}, {status}).waiting.choices.map((/** @type {any} */ c) => c.type);
  assert.deepEqual(types("invited"), ["cancel"]);
  assert.deepEqual(types("accepted"), ["begin", "cancel"]);
});

test("an unfinished workout is named before Go, but not the run's own", () => {
  const confirming = {...view, status: "confirming", participants: [{...anna, status: "accepted"}, ben]};
  const busy = drawn(shown(["view", confirming], ["current", {revision: 1, session: id, name: "Yoga"}]));
  assert.equal(busy.unfinished.text, "Your workout Yoga is unfinished. End it before the run.");
  assert.equal(drawn(shown(["view", confirming], ["current", {revision: 1, session}])).unfinished, undefined);
});

test("the countdown counts whole seconds to one's own start and ends there", () => {
  const starting = {
    ...view,
    status: "starting",
    participants: [{...anna, status: "confirmed", startsAt: now + 2.4}, ben]
  };
  const run = shown(["view", starting]);
  assert.equal(drawn(run).countdown, 3);
  assert.equal(drawn(run, now + 2).countdown, 1);
  assert.equal(drawn(run, now + 2.4).countdown, undefined);
  assert.equal(drawn(run, now + 2.4).isOn, true);
  assert.equal(drawn(run, now + 9).needsDevice, true);
});

test("lanes of more than two are sorted by place, whose gaps compare at the same active time", () => {
  const cleo = {...ben, user: "cleo"};
  const three = {...view, participants: [anna, {...ben, user: "dan"}, cleo, ben], ghosts: [{number: 1, pace: 330}]};
  // Cleo's newest item is older than ben's: more metres, and still behind at the same time.
  const rows =
    [row, {g: 1, st: "connected", d: 1000, gm: 0.2, gs: 0}, {...row, u: "cleo", t: 330, d: 1050, gm: -50, gs: -70}];
  const {lanes, time, place} = drawn(shown(["view", three], ["partners", {...partners, x: rows}]));
  assert.deepEqual(lanes.map((/** @type {any} */ lane) => [lane.key, lane.place, lane.link.text]), [
    ["ben", "1", "Live"],
    ["ghost 1", "2", "Ghost"],
    ["anna", "3", "You"],
    ["cleo", "4", "Live"],
    ["dan", "", "Running"],
  ]);
  assert.equal(lanes[2].gap, "Place 2 of 4");
  assert.deepEqual([joined(time), place], ["05:00", ""]);
});

test("of two, each lane shows its side of the gap", () => {
  const {lanes, place} = drawn(shown(["view", view], ["partners", partners]));
  assert.equal(place, "Place 2");
  assert.deepEqual(lanes.map((/** @type {any} */ lane) => lane.gap), ["29 m, 9 s behind", "29 m, 9 s ahead"]);
});

test("links at 7.9, 8, 15 and 15.1 s, and of the paused and finished", () => {
  const at = (/** @type {number} */ a, passed = 0) => link({u: "ben", st: "connected", a}, passed).signal;
  assert.deepEqual([at(7.9), at(8), at(15), at(15.1), at(3, 6)], ["live", "weak", "weak", "silent", "weak"]);
  assert.equal(link({st: "paused", a: 100}, 0).text, "Paused");
  assert.equal(link({st: "disconnected", a: 42}, 0).text, "No signal for 0:42");
  // A silent service says nothing of the partner.
  assert.equal(at(1, 600), "weak");
});

test("a lost partner has no pace and no heart rate, and keeps the metres", () => {
  const run = shown(["view", view], ["partners", {...partners, x: [{...row, st: "disconnected", a: 60}]}]);
  const ben = drawn(run).lanes.find((/** @type {any} */ lane) => lane.key === "ben");
  assert.deepEqual(
    [joined(ben.pace), joined(ben.heartRate), joined(ben.distance), ben.isLost], ["--", "--", "1.03 km", true]);
});

test("one's own lane says the age of one's own data, and has no pace and no heart rate without a signal", () => {
  const state = {run: id, revision: 1, status: "active", segments: [[now - 300, null]]};
  const metrics = {r: id, s: now * 1000, c: now, n: 5, d: 1000, dp: 300, h: 150};
  const run = shown(["view", view], ["partners", partners], ["state", state], ["metrics", metrics]);
  const mine = (/** @type {any} */ run, /** @type {number} */ at) => {
    const [{link, pace, heartRate, distance, isLost}] = drawn(run, at).lanes;
    return [link.text, joined(pace), joined(heartRate), joined(distance), isLost];
  };
  assert.deepEqual(mine(run, now + 7), ["You", "5:00 /km", "150 bpm", "1.00 km", false]);
  assert.deepEqual(mine(run, now + 8), ["Weak signal", "5:00 /km", "150 bpm", "1.00 km", false]);
  assert.deepEqual(mine(run, now + 300), ["No signal for 5:00", "--", "--", "1.00 km", true]);
  // A repetition without new items is no signal.
  const repeated = receive(run, "metrics", {...metrics, s: (now + 290) * 1000});
  assert.equal(mine(repeated, now + 300)[0], "No signal for 5:00");
  assert.equal(mine(receive(run, "metrics", {...metrics, s: (now + 299) * 1000, n: 6}), now + 300)[0], "You");
  assert.equal(mine(receive(run, "state", {...state, revision: 2, status: "paused"}), now + 300)[0], "Paused");
});

test("all metres move with one's own between messages, stop after 15 s, and shrink only by a jump", () => {
  let run = shown(["view", view], ["partners", partners], ["metrics", {r: id, s: 1, v: 3}]);
  const metres = (/** @type {number} */ at) => {
    run = advance(run, at);
    return [run.metres.anna, run.metres.ben];
  };
  assert.deepEqual(metres(now), [1000, 1029]);
  assert.deepEqual(metres(now + 4), [1012, 1041]);
  assert.deepEqual(metres(now + 60), [1045, 1074]);
  run = receive(run, "partners", {...partners, s: 10, now: now + 60, d: 1030, x: [{...row, gm: 20}]});
  assert.deepEqual(metres(now + 60), [1045, 1065]);
  run = receive(run, "partners", {...partners, s: 11, now: now + 61, d: 1020, x: [{...row, gm: 20}]});
  assert.deepEqual(metres(now + 61), [1020, 1040]);
  // One's own clock is stopped.
  run = receive(run, "state", {run: id, revision: 1, status: "paused"});
  assert.deepEqual(metres(now + 70), [1020, 1040]);
});

test("a message before the view changes nothing", () => {
  assert.deepEqual(advance(shown(["partners", partners]), now).metres, {});
  // Before the own first metres there is no gap.
  const early = {...partners, d: undefined, pl: undefined, x: [{...row, gm: undefined, gs: undefined}]};
  assert.deepEqual(advance(shown(["view", view], ["partners", early]), now).metres, {ben: 1029});
});

test("order, bars, metres and words of a thousand random messages never contradict each other", () => {
  let seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`SEED=${seed} for order, bars, metres and words`);
  const random = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  const pick = (/** @type {any[]} */ all) => all[Math.floor(random() * all.length)];
  const metresOf = (/** @type {any} */ lane) => Number(lane.distance.number) * 1000;
  for (let turn = 0; turn < 1000; turn++) {
    const rows = ["ben", "cleo", "dan"].map((u) => {
      const t = 300 + pick([-200, -60, -2, 0, 2, 60]);
      return {
        u,
        st: pick(["connected", "connected", "stale", "disconnected", "paused", "finished"]),
        a: random() * 8,
        v: 4 * random(),
        t,
        d: t * (2 + random()),
        gm: 200 * random() - 100,
        gs: 9
      };
    });
    const current = rows.filter(({st}) => !["stale", "disconnected"].includes(st));
    const pl = current.length > 0 ? 1 + current.filter(({gm}) => gm > 0).length : undefined;
    const message = {...partners, d: 600 + 300 * random(), pl, x: rows};
    const four = {...view, participants: [anna, ...rows.map(({u}) => ({...ben, user: u}))]};
    const run = shown(["view", four], ["partners", message], ["metrics", {r: id, s: 1, v: 4 * random()}]);
    const {lanes} = drawn(run, now + pick([0, 1, 3, 9]));
    const others = lanes.filter((/** @type {any} */ lane) => !lane.isMine);
    const mine = lanes.find((/** @type {any} */ lane) => lane.isMine);
    const places = lanes.map((/** @type {any} */ lane) => Number(lane.place)).filter(Boolean);
    assert.deepEqual(places, places.toSorted((/** @type {number} */ a, /** @type {number} */ b) => a - b), `${turn}`);
    for (const lane of others) {
      // What was at another time says so.
      if (/ (ago|at \d\d:\d\d)$/.test(lane.gap)) continue;
      const ahead = lane.gap === "level" ? 0 : Number.parseFloat(lane.gap) * (lane.gap.endsWith("ahead") ? 1 : -1);
      assert.ok(Math.abs(metresOf(lane) - metresOf(mine) - ahead) <= 11.5,
        `${turn}: ${lane.gap}, ${metresOf(lane)} and ${metresOf(mine)} m`);
      assert.ok(
        Math.sign(lane.share - mine.share) * ahead >= 0, `${turn}: ${lane.gap}, bars ${lane.share} and ${mine.share}`);
      assert.ok(Math.sign(Number(mine.place) - Number(lane.place)) * ahead >= 0,
        `${turn}: ${lane.gap}, places ${lane.place} and ${mine.place}`);
    }
    assert.ok(others.every((/** @type {any} */ lane) => !lane.gap.endsWith("ago") || lane.place === ""));
    assert.equal(mine.place, String(pl ?? ""));
  }
});

test("the gap of a partner without current data says since when, and gives no place", () => {
  const gaps = (/** @type {any} */ changes) => {
    const {lanes} =
      drawn(shown(["view", view],
              ["partners", {...partners, pl: changes.st === "paused" ? 2 : undefined, x: [{...row, ...changes}]}]),
        now + 2);
    return lanes.map((/** @type {any} */ lane) => [lane.place, lane.gap]);
  };
  assert.deepEqual(
    gaps({st: "disconnected", a: 40}), [["", "29 m, 9 s behind 0:42 ago"], ["", "29 m, 9 s ahead 0:42 ago"]]);
  assert.deepEqual(gaps({st: "stale", a: 9})[1], ["", "29 m, 9 s ahead 0:11 ago"]);
  // Ben paused at 04:00: at that time he was ahead, though anna ran further since.
  assert.deepEqual(gaps({st: "paused", t: 240, d: 900})[1], ["1", "29 m, 9 s ahead at 04:00"]);
});

test("a partner's finish asks once, and so does a lost partner until one is back", () => {
  const finished = {
    ...view,
    participants: [anna, {...ben, status: "finished", finished: {distance: 5010, activeDuration: 1563, pace: 312}}]
  };
  const run = shown(["view", finished]);
  assert.equal(drawn(run).prompt.text, "ben finished 5.01\u00a0km, 5:12\u00a0/km");
  assert.equal(drawn({...run, dismissed: [drawn(run).prompt.id]}).prompt, undefined);
  const lost = shown(["view", {...view, prompt: {since: now - 195}}]);
  assert.deepEqual(
    [drawn(lost).prompt.text, drawn(lost).prompt.detail], ["Partner lost", "No data from ben for 3:15."]);
  assert.equal(drawn(receive(lost, "view", {...view, revision: 6})).prompt, undefined);
  // Who finished is asked nothing.
  assert.equal(drawn(shown([
    "view", {...finished, participants: [{...anna, status: "finished"}, finished.participants[1]]}
  ])).prompt,
    undefined);
});

test("results show who finished, who did not, and that they may change", () => {
  const rows = [
    {user: "ben", place: 1, status: "finished", time: 1563, distance: 5010, pace: 312, averageHeartRate: 151},
    {
      user: "anna",
      place: 2,
      status: "finished",
      time: 1600,
      distance: 5000,
      pace: 320,
      behind: {seconds: 37},
      pauses: {count: 1, seconds: 30}
    },
    {user: "cleo", place: 3, status: "finished", time: 1600.4, distance: 5000, pace: 320, behind: {seconds: 0.44}},
    {status: "dnf", distance: 1000, environment: "indoor"},
  ];
  const {results, lanes, isOn} =
    drawn(shown(["view", {...view, status: "finished", results: {provisional: true, rows}}]));
  assert.deepEqual([results.isProvisional, isOn, lanes.length], [true, false, 0]);
  assert.deepEqual(results.rows.map((/** @type {any} */ r) => [r.place, r.name, r.time, r.behind, r.notes]), [
    ["1", "ben", "26:03", "", ""],
    ["2", "anna (you)", "26:40.0", "+0:37", "1 pause, 00:30"],
    ["3", "cleo", "26:40.4", "+0:00.4", ""],
    ["", "Deleted account", "--", "", "Did not finish · indoor"],
  ]);
});

test("a result says that a clock was off", () => {
  const rows = [{user: "anna", place: 1, status: "finished", time: 60, distance: 165, clockSkew: -90.4}];
  const {results} = drawn(shown(["view", {...view, status: "finished", results: {rows}}]));
  assert.equal(results.rows[0].notes, "a clock was 1:30 off");
});

test("an empty map says why it has no routes", () => {
  const over = (/** @type {boolean} */ route, /** @type {any} */ results) =>
    routesText({...view, participants: [anna, {...ben, sharing: {route}}], results});
  const rows = [{user: "ben", status: "finished"}];
  assert.equal(over(false, {rows}), "No routes: no runner shares one.");
  assert.equal(over(true, {rows}), "No routes: the shared workouts have no positions.");
  assert.equal(over(true, {rows, provisional: true}), "No routes yet: they come once the workouts are complete.");
  assert.match(over(true, {rows: [...rows, {user: "anna", status: "finished", hasRoute: true}]}), /no positions/);
  assert.equal(
    over(true, {rows: [{...rows[0], hasRoute: true}]}), "No routes yet: they come once the workouts are complete.");
});

test("who missed the minute to confirm reads what to do", () => {
  const missed = (/** @type {any} */ changes) => drawn(shown([
    "view", {
      ...view,
      host: "ben",
      status: "starting",
      participants: [{...anna, status: "declined", reason: "unconfirmed"}, ben],
      ...changes
    }
  ])).over;
  assert.equal(missed({}), "You did not press Go within a minute. Ask ben to invite you again.");
  assert.match(missed({lateJoin: false}), /Nobody can join this run any more: create a new one\.$/);
  assert.match(
    missed({status: "canceled", reason: "unconfirmed"}), /Too few pressed Go within a minute\. Create a new run/);
});

test("the map shows the reader only among those who share, and a runner keeps the color", () => {
  const mine = ["metrics", {r: id, s: 1, la: 52.5, lo: 13.3}];
  assert.deepEqual(drawn(shown(["view", view], mine)).places, []);
  const positions = {r: id, s: 1, now, x: [{u: "ben", la: 52.6, lo: 13.4}]};
  const {places} = drawn(shown(["view", view], mine, ["positions", positions]));
  assert.deepEqual(places.map((/** @type {any} */ p) => [p.name, p.color, p.here]),
    [["anna", 0, [52.5, 13.3]], ["ben", 1, [52.6, 13.4]]]);
  const over =
    {...view, revision: 6, status: "finished", results: {rows: [{user: "ben", status: "finished", hasRoute: true}]}};
  const finished = drawn(shown(["view", over], mine, ["positions", positions]));
  assert.deepEqual([finished.places, finished.hasDetails], [[], true]);
  const [route] = routes(over, [{user: "anna", polyline: [""]}, {user: "ben", polyline: ["_p~iF~ps|U_ulLnnqC", ""]}]);
  assert.deepEqual([route.color, route.lines], [1, [[[38.5, -120.2], [40.7, -120.95]]]]);
});

test("a route is cut where the heart rate's zone changes", () => {
  /** @type {[number, number][]} */
  const line = [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]];
  const pieces = zonePieces(line, [100, 110, 150, null, 190], 190);
  assert.deepEqual(pieces.map(({points, kind}) => [points.length, kind]),
    [[2, "zone-1"], [2, "zone-3"], [2, "zone-0"], [2, "zone-5"]]);
  assert.deepEqual(pieces[1].points, [[2, 2], [3, 3]]);
});

test("the table of splits has everyone's times and the gap to the first at each mark", () => {
  const three = {...view, ghosts: [{number: 1, pace: 330}]};
  const splits = [
    {user: "anna", km: [300, 590, 880.4], mi: [480]},
    {user: "ben", km: [295.5, 600], mi: [470]},
    {ghost: 1, km: [330, 660, 990], mi: [531]},
  ];
  const table = splitTable(three, splits, {});
  assert.deepEqual([table.unit, table.names], ["km", ["anna (you)", "ben", "Pace 5:30"]]);
  assert.deepEqual(table.rows.map(({mark, cells}) => [mark, ...cells.map(({time, gap}) => `${time} ${gap}`.trim())]), [
    ["1", "05:00 +0:04.5", "04:55", "05:30 +0:35"],
    ["2", "04:50", "05:04 +0:10", "05:30 +1:10"],
    ["3", "04:50", "", "05:30 +1:50"],
  ]);
  assert.deepEqual(splitTable(three, splits, {units: "imperial"}).rows.length, 1);
});

test("the host invites and removes until the run is closed, and what is shared can change", () => {
  const inviting = (/** @type {any} */ changes) => drawn(shown([
    "view", {
      ...view,
      status: "inviting",
      participants: [{...anna, status: "accepted"}, {...ben, status: "accepted"}],
      ...changes
    }
  ]));
  const host = inviting({});
  assert.deepEqual([host.canInvite, host.people.map((/** @type {any} */ p) => p.canRemove)], [true, [false, true]]);
  const guest = inviting({host: "ben"});
  assert.deepEqual(
    [guest.canInvite, guest.people.some((/** @type {any} */ p) => p.canRemove), guest.sharing !== undefined],
    [false, false, true]);
  assert.equal(drawn(shown(["view", view])).canInvite, true);
  assert.equal(drawn(shown(["view", {...view, lateJoin: false}])).canInvite, false);
  const over = inviting({status: "canceled", reason: "declined"});
  assert.deepEqual(
    [over.canInvite, over.sharing, over.over], [false, undefined, "This run was canceled. All declined."]);
  assert.equal(
    inviting({participants: [{...anna, status: "declined", reason: "removed"}, ben]}).over, "The host removed you.");
});

test("the dialog that ends one's run names time and distance", () => {
  const state = {run: id, session, revision: 1, status: "active", segments: [[now - 2530, null]]};
  assert.equal(
    drawn(shown(["view", view], ["state", state], ["metrics", {r: id, s: 1, d: 8310}])).totals, "42:10 · 8.31 km");
});

test("ghosts are one's own finished workouts with a distance, the newest first", () => {
  const workout =
    {session: session.toUpperCase(), startedAt: now - 90_000, timeZone: "UTC", distance: 5010, activeDuration: 1563};
  const all = [workout, {...workout, startedAt: now}, {...workout, distance: undefined}];
  assert.deepEqual(
    ghosts(all, {}).map(({text}) => text), [now, now - 90_000].map((time) => `${when(time, "UTC")} · 5.01 km · 26:03`));
  const {fields} = /** @type {any} */ (proposal({people: "", goal: "", pace: "5:30"}, "metric", "anna", [session]));
  assert.deepEqual(fields.ghosts, [{session}, {pace: 330}]);
  assert.match(
    /** @type {any} */ (proposal({people: "ben"}, "metric", "anna", Array(9).fill(session))).error, /at most 8/);
});

test("names are separated by spaces or commas, each once",
  () => { assert.deepEqual(names(" Ben, cleo;ben "), ["ben", "cleo"]); });

test("results have one's own splits", () => {
  const over = {...view, status: "finished", results: {rows: []}};
  const workout = {
    session: session.toUpperCase(),
    revision: 2,
    splits: [{distance: 1000, duration: 312, pace: 312, averageHeartRate: 148}]
  };
  const run = shown(["workout", {...workout, session: id}], ["workout", workout],
    ["workout", {...workout, revision: 1, splits: []}], ["view", over]);
  assert.deepEqual(
    drawn(run).splits, [{number: "1", distance: "1.00 km", time: "05:12", pace: "5:12 /km", heartRate: "148 bpm"}]);
});

test("gaps are level below a metre and say the side", () => {
  assert.equal(gapText(0.9, 0.1, {}), "level");
  assert.equal(gapText(-1500, -400, {}), "1.50 km, 6:40 behind");
  assert.equal(gapText(30, 9, {units: "imperial"}), "98 ft, 9 s ahead");
  assert.equal(gapText(undefined, undefined, {}), "");
});

test("the form becomes a proposal or says what is wrong", () => {
  const form = {
    people: "Ben, cleo ben",
    goal: "distance",
    distance: "5",
    clock: "gun",
    start: "together",
    name: " Park ",
    at: "",
    pace: ""
  };
  assert.deepEqual(proposal(form, "metric", "anna"), {
    fields:
      {invite: ["ben", "cleo"], clock: "gun", start: "together", sharing: {}, goal: {distance: 5000}, name: "Park"},
  });
  const fields = /** @type {any} */ (
    proposal({...form, people: "", pace: "5:30", goal: "duration", duration: "30:00"}, "metric",
      "anna")).fields;
  assert.deepEqual([fields.ghosts, fields.goal], [[{pace: 330}], {duration: 1800}]);
  const error = (/** @type {any} */ changes) =>
    /** @type {any} */ (proposal({...form, ...changes}, "metric", "anna")).error;
  assert.match(error({people: ""}), /at least one/);
  assert.match(error({people: "anna"}), /anyway/);
  assert.match(error({distance: "0.05"}), /0\.1 to 500 km/);
  assert.match(/** @type {any} */ (proposal({...form, distance: "0.05"}, "imperial", "anna")).error, /0\.07 to 310 mi/);
  assert.match(error({goal: "duration", duration: "5"}), /1:00/);
  assert.match(error({pace: "1:00"}), /2:00/);
  assert.match(error({countdown: "2"}), /3 to 60/);
  const rolling = /** @type {any} */ (
    proposal({...form, start: "rolling", ends: "2027-01-15T08:00", countdown: "10", lateJoin: ""}, "metric",
      "anna")).fields;
  assert.deepEqual([rolling.endsAt, rolling.countdown, rolling.lateJoin],
    [new Date("2027-01-15T08:00").getTime() / 1000, 10, undefined]);
  assert.equal(/** @type {any} */ (proposal({...form, lateJoin: ""}, "metric", "anna")).fields.lateJoin, false);
  assert.match(error({start: "rolling", at: "2027-01-15T08:00"}), /no time of its own/);
});

test("an entry of the list is the same from a reply and from a view", () => {
  const text = entry(overview({...view, name: "Park"}), "UTC");
  const reply = {
    run: id,
    status: "running",
    name: "Park",
    host: "anna",
    createdAt: now - 400,
    startsAt: now - 300,
    runners: 2,
    own: "running"
  };
  assert.deepEqual(text, entry(reply, "UTC"));
  assert.match(entry({...reply, runners: 1}).text, /^1 runner /);
  assert.equal(terms({clock: "gun", start: "rolling"}, {}), "No goal · gun time · start at any time");
  assert.equal(title({...view, participants: [anna]}), "Virtual run");
});

test("the gap over time is a bounded line around the reader, and of this run's runners alone", () => {
  let run = shown(["view", view]);
  for (let step = 0; step <= 1000; step++) {
    run = receive(run, "partners", {...partners, s: step + 10, now: now + 2 * step, x: [{...row, gm: step / 10 - 50}]});
  }
  const {ben} = run.gaps;
  assert.ok(ben.length > 20 && ben.length <= 120, `${ben.length}`);
  assert.ok(ben.every(([at], index) => index === 0 || at > ben[index - 1][0]));
  assert.equal(drawn(run).lanes[1].line.label, "Gap over 33:20: first 50 m behind, now 50 m ahead");
  assert.equal(drawn(run).lanes[0].line, undefined);
  const points = drawn(run).lanes[1].line.points.split(" ");
  assert.deepEqual([points[0], points[points.length - 1]], ["0.0,38.0", "100.0,2.0"]);
  assert.deepEqual(receive(run, "partners", {...partners, s: 2000, now: now + 2002, x: []}).gaps, {});
  assert.equal(gapLine([[now, 1], [now + 2, 2]], {}), undefined);
});

test("results that are close have tenths, and the winner a sentence", () => {
  const row = (/** @type {string} */ user, /** @type {number} */ place, /** @type {number} */ time, changes = {}) => ({
    user,
    place,
    status: "finished",
    time,
    distance: 5000,
    ...(place > 1 ? {behind: {seconds: time - 1500.26}} : {}),
    ...changes
  });
  const over = (/** @type {any[]} */ rows, /** @type {any} */ changes = {}) => drawn(shown([
    "view", {
      ...view,
      status: "finished",
      participants: [{...anna, status: "finished"}, {...ben, status: "finished"}],
      results: {rows},
      ...changes
    }
  ]));
  const two = over([row("ben", 1, 1500.26), row("anna", 2, 1508.51), row("cleo", 3, 1520)]);
  assert.deepEqual(two.results.rows.map(({time}) => time), ["25:00.2", "25:08.5", "25:20"]);
  assert.deepEqual(two.winner, {title: "ben won", detail: "You came in 2nd, 0:08.3 behind.", isMine: false});
  assert.deepEqual(over([row("anna", 1, 1500.26), row("ben", 2, 1537.66)]).winner,
    {title: "You won", detail: "0:37 ahead of ben.", isMine: true});
  assert.equal(over([row("anna", 1, 1500), row("ben", 1, 1500)]).winner.title, "Dead heat: You and ben");
  const waits = {results: {rows: [row("ben", 1, 1500)], provisional: true}};
  assert.equal(over([], waits).winner.title, "ben is first so far");
  assert.equal(over([row("ben", 0, 0, {place: undefined, status: "dnf"})]).winner, undefined);
});

test("a rematch has the same people, goal, clock and pacing partner", () => {
  const people = [anna, ben, {...ben, user: "cleo", status: "declined"}];
  const again = rematch(
    {...view, participants: people, goal: {distance: 5000}, clock: "gun", ghosts: [{number: 1, pace: 330}]}, "metric");
  assert.deepEqual(
    [again.people, again.goal, again.distance, again.clock, again.pace], ["ben", "distance", "5", "gun", "5:30"]);
  const {fields} = /** @type {any} */ (proposal(again, "metric", "anna"));
  assert.deepEqual([fields.invite, fields.goal, fields.ghosts], [["ben"], {distance: 5000}, [{pace: 330}]]);
  const timed = proposal(rematch({...view, goal: {duration: 5400}}, "metric"), "metric", "anna");
  assert.deepEqual(/** @type {any} */ (timed).fields.goal, {duration: 5400});
});
