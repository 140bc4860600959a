import assert from "node:assert/strict";
import {test} from "node:test";
import * as c from "../../../Services/Dashboard/Web/modules/cards.js";
import {when} from "../../../Services/Dashboard/Web/modules/format.js";
import {groupText, labelHeight, layout} from "../../../Services/Dashboard/Web/modules/places.js";

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`SEED=${seed} for cards.test.js`);
let random = seed;
const next = (limit) => {
  random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
  return Math.floor((random / 2 ** 32) * limit);
};

const now = 1795238100;
const sessionOf = (user, number = 0) => `0b9f6d1e-1f1a-4c58-9a55-${user.padEnd(11, "0")}${number}`;
const state = (user, status, changes = {}) => ["state", {
  user,
  session: sessionOf(user),
  payload: {
    session: sessionOf(user),
    revision: now * 1000,
    status,
    activity: "running",
    name: "Outdoor Running",
    segments: [[now - 900, null]],
    startedAt: now - 900,
    isLive: true,
    timeZone: "Europe/Berlin",
    ...changes
  }
}];
const metrics = (user, age, changes = {}) => ["metrics",
  {user, session: sessionOf(user), payload: {s: (now - age) * 1000, c: now - age, n: 5, d: 1000, ds: {}, ...changes}}];
const current = (user, session = sessionOf(user)) => ["current", {user, payload: {revision: now * 1000, session}}];
const people = (...events) => events.reduce((all, [name, data]) => c.receive(all, name, data, now), c.noPeople());

test("without the right to see a user, nothing of that user is left", () => {
  const all =
    people(current("anna"), current("ben"), state("anna", "active"), state("ben", "active"), metrics("ben", 1));
  const left = c.only(all, ["anna", "cleo"]);
  assert.deepEqual(c.cards(left, now).map(({user}) => user), ["anna"]);
  assert.ok(!JSON.stringify(left).includes("ben"));
  assert.deepEqual(c.only(all, []), c.noPeople());
  assert.deepEqual(c.cards(all, now).length, 2);
});

test("silent over a minute come first, then paused, live and finished today", () => {
  const all = people(...["anna", "ben", "cleo", "dora", "emil"].map((user) => current(user)), state("anna", "active"),
    metrics("anna", 1), state("ben", "completed", {endedAt: now - 60}), state("cleo", "active"), metrics("cleo", 61),
    state("dora", "suspended"), state("emil", "active"), metrics("emil", 59));
  const list = c.cards(all, now);
  assert.deepEqual(c.sorted(list, now), ["cleo", "dora", "anna", "emil", "ben"]);
  assert.equal(c.summary(list, now), "1 silent · 1 paused · 2 live · 1 finished today");
});

test("who has just begun is not silent, and who never sent is, after a minute", () => {
  const fresh = people(current("anna"), state("anna", "active", {segments: [[now - 30, null]]}));
  assert.equal(c.rank(c.cards(fresh, now)[0], now), 2);
  assert.equal(c.rank(c.cards(fresh, now)[0], now + 31), 0);
});

test("yesterday's, canceled and deleted workouts have no card, nor has one that is no longer current", () => {
  const yesterday = state("anna", "completed", {endedAt: now - 86400});
  assert.deepEqual(c.cards(people(yesterday), now), []);
  // 05:15 in London: half an hour before midnight in Los Angeles was today there, 21:15.
  const west = state("anna", "completed", {endedAt: now - 3600, timeZone: "America/Los_Angeles"});
  assert.equal(c.cards(people(west), now).length, 1);
  assert.equal(c.cards(people(west), now + 3 * 3600).length, 0);
  for (const status of ["canceled", "deleted"])
    assert.deepEqual(c.cards(people(current("anna"), state("anna", status)), now), []);
  assert.deepEqual(c.cards(people(state("anna", "active"), current("anna", null)), now), []);
});

test("one's own canceled workouts stay at hand, the newest first, without canceled countdowns", () => {
  const event = (/** @type {number} */ number, changes = {}, user = "anna", status = "canceled") => {
    const allowed = status === "canceled" ? ["recover"] : undefined;
    const [name, {payload}] = state(user, status, {revision: now * 1000 + number, allowed, ...changes});
    return [name, {user, session: sessionOf(user, number), payload}];
  };
  const all = people(event(1), event(2, {endReason: "expired", activity: "traditionalStrength", name: "Upper Body A"}),
    event(3, {segments: []}), event(4, {}, "ben"), event(5, {}, "anna", "deleted"));
  assert.deepEqual(c.canceled(all, "anna"), [
    {session: sessionOf("anna", 2), text: "Strength · Upper Body A expired", date: when(now - 900, "Europe/Berlin")},
    {session: sessionOf("anna", 1), text: "Outdoor Running was discarded", date: when(now - 900, "Europe/Berlin")}
  ]);
  assert.equal(c.canceled(people(...[6, 7, 8, 9].map((number) => event(number))), "anna").length, 3);
});

test("a user has one card: the unfinished workout, else the one that ended last", () => {
  const done = (number, endedAt) => ["state", {
    user: "anna",
    session: sessionOf("anna", number),
    payload: {...state("anna", "completed")[1].payload, session: sessionOf("anna", number), endedAt}
  }];
  const all = people(done(1, now - 50), done(2, now - 20), done(3, now - 90));
  assert.deepEqual(c.cards(all, now).map(({session}) => session), [sessionOf("anna", 2)]);
  const again =
    [current("anna"), state("anna", "active")].reduce((so, [name, data]) => c.receive(so, name, data, now), all);
  assert.deepEqual(c.cards(again, now).map(({session}) => session), [sessionOf("anna")]);
});

test("in any order of updates the cards stay where they are, new ones follow, and sorting again orders all", () => {
  const users = "abcdefghij".split("").map((letter) => letter.repeat(4));
  for (let round = 0; round < 200; round++) {
    let all = c.noPeople();
    /** @type {string[]} */
    let order = [];
    for (let step = 0; step < 40; step++) {
      const user = users[next(users.length)];
      const status =
        ["preparing", "active", "paused", "suspended", "saving", "completed", "canceled", "deleted"][next(8)];
      const revision = (now + step) * 1000;
      const events = [
        state(user, status, {revision, endedAt: now - next(9e4)}), metrics(user, next(200), {s: revision}),
        current(user), current(user, next(2) ? null : sessionOf(user))
      ];
      all = events.slice(0, 1 + next(4)).reduce((so, [name, data]) => c.receive(so, name, data, now), all);
      const list = c.cards(all, now);
      const shown = list.map((card) => card.user).sort();
      assert.equal(new Set(shown).size, shown.length);
      const before = order;
      order = c.arrange(order, list, now);
      assert.deepEqual([...order].sort(), shown);
      assert.deepEqual(order.filter((name) => before.includes(name)), before.filter((name) => order.includes(name)));
      const ranks = c.sorted(list, now).map((name) => c.rank(list.find((card) => card.user === name), now));
      assert.deepEqual(ranks, [...ranks].sort());
      if (next(10) === 0) order = c.sorted(list, now);
    }
  }
});

test("an older message of any kind changes nothing", () => {
  const all = people(current("anna"), state("anna", "paused"));
  const older =
    [["current", {user: "anna", payload: {revision: 1, session: null}}], state("anna", "active", {revision: 1})];
  for (const [name, data] of older)
    assert.equal(c.cards(c.receive(all, name, data, now), now)[0].shown.state.status, "paused");
});

test("sessions that no card shows are dropped after two days", () => {
  const all = people(state("anna", "completed", {endedAt: now - 60}));
  const [name, data] = state("ben", "active", {revision: (now + 50 * 3600) * 1000});
  assert.deepEqual(Object.values(c.receive(all, name, data, now + 50 * 3600).sessions).map(({user}) => user), ["ben"]);
});

test("an alert comes once, when a signal is lost or a battery gets low, and not for what was shown at first", () => {
  const low = {ds: {watch: {c: now, b: 0.2}}};
  const at = (...events) => c.cards(people(current("anna"), state("anna", "active"), ...events), now);
  let {troubles, fresh} = c.alerts(undefined, at(metrics("anna", 20)), now);
  assert.deepEqual([troubles.anna, fresh], ["silent", []]);
  ({troubles, fresh} = c.alerts(troubles, at(metrics("anna", 1)), now));
  assert.deepEqual(fresh, []);
  ({troubles, fresh} = c.alerts(troubles, at(metrics("anna", 1, low)), now));
  assert.deepEqual([troubles.anna, fresh], ["battery", ["anna"]]);
  ({troubles, fresh} = c.alerts(troubles, at(metrics("anna", 2, low)), now));
  assert.deepEqual(fresh, []);
  ({troubles, fresh} = c.alerts(troubles, at(metrics("anna", 20, low)), now));
  assert.deepEqual([troubles.anna, fresh], ["silent", ["anna"]]);
  ({troubles, fresh} = c.alerts(troubles, at(metrics("anna", 1, low)), now));
  assert.deepEqual([troubles.anna, fresh], ["battery", []]);
  const paused =
    c.cards(people(current("anna"), state("anna", "completed", {endedAt: now}), metrics("anna", 20, low)), now);
  assert.equal(c.trouble(paused[0], now), "");
});

test("a title names the activity once", () => {
  assert.equal(c.titleOf("running", "Outdoor Running"), "Outdoor Running");
  assert.equal(c.titleOf("traditionalStrength", "Upper Body A"), "Strength · Upper Body A");
});

test("on a map everyone is in one mark, and no name covers another name, a mark or the edge", () => {
  for (let round = 0; round < 500; round++) {
    const size = {x: 200 + next(1000), y: 150 + next(600)};
    const points =
      Array.from({length: 1 + next(20)}, (_, index) => ({user: `runner-${index}`, x: next(size.x), y: next(size.y)}));
    const marks = layout(points, (text) => 20 + text.length * 8, size);
    assert.deepEqual(marks.flatMap(({users}) => users).sort(), points.map(({user}) => user).sort());
    const labels = marks.flatMap((mark) => (mark.label ? [{...mark.label, mark}] : []));
    for (const [index, a] of labels.entries()) {
      assert.ok(a.x >= 0 && a.x + a.width <= size.x && a.y >= labelHeight / 2 && a.y <= size.y - labelHeight / 2);
      for (const b of labels.slice(index + 1)) {
        assert.ok(a.x + a.width <= b.x || b.x + b.width <= a.x || Math.abs(a.y - b.y) >= labelHeight);
      }
      for (const mark of marks) {
        assert.ok(mark === a.mark || mark.x < a.x - 10 || mark.x > a.x + a.width + 10 || Math.abs(mark.y - a.y) >= 22);
      }
    }
  }
});

test("a mark of several people names them all, the silent ones first", () => {
  const people = [["anna", false], ["ben", true], ["cleo", false]].map(
    ([user, isSilent]) => ({user: String(user), isSilent: isSilent === true}));
  assert.equal(groupText(people), "ben (no signal), anna, cleo");
});
