import assert from "node:assert/strict";
import {test} from "node:test";

import {age, countsOf, figuresText, headline, printable, receive, rowText, servicesText, shownText, sums, table, utc} from "../../../Services/Dashboard/Web/modules/operator-table.js";

const now = 1_700_000_000;
const topic = (/** @type {string} */ user, /** @type {string} */ name) =>
  `pacebus/v1/07/${user}/session-${user}/${name}`;

/** @param {Record<string, { status?: string, changed?: number, heard?: number, published?: number }>} people seconds before now */
function sessions(people) {
  /** @type {import("../../../Services/Dashboard/Web/modules/operator-table.js").Sessions} */
  const all = new Map();
  for (const [user, {status = "active", changed = 1000, heard, published}] of Object.entries(people)) {
    receive(all, topic(user, "state"),
      {status, activity: "running", segments: [[now - changed, null]], isLive: true, revision: (now - changed) * 1000});
    if (heard !== undefined)
      receive(all, topic(user, "heard/samples"),
        {s: (now - (published ?? Math.max(0, heard - 15))) * 1000, c: now - heard, n: 5, gaps: []});
  }
  return all;
}

/** @param {ReturnType<typeof sessions>} all */
const users = (all, filter = {
  name: "",
  status: ""
}) => table(all, filter, now).rows.map(({facts}) => facts.user);

test("stuck sessions come first, then live ones, those at rest, and those that are over, the latest first", () => {
  const all = sessions({
    live: {heard: 1, published: 0},
    rest: {status: "paused"},
    over: {status: "completed", changed: 50},
    older: {status: "completed", changed: 500},
    silent: {heard: 100},
    longer: {heard: 300},
    saving: {status: "saving", changed: 61},
    none: {changed: 2000}
  });
  assert.deepEqual(users(all), ["none", "longer", "silent", "saving", "live", "rest"]);
  assert.deepEqual(users(all, {name: "", status: "completed"}), ["over", "older"]);
  assert.deepEqual(users(all, {name: "", status: "silent"}), ["none", "longer", "silent"]);
  assert.deepEqual(users(all, {name: " LI", status: ""}), ["live"]);
  const {silent, stuckSaving, counts} = table(all, {name: "", status: ""}, now);
  assert.deepEqual([silent, stuckSaving, counts.active, counts.completed], [3, 1, 4, 2]);
});

test("live rows keep their place while items come", () => {
  assert.deepEqual(users(sessions({b: {heard: 2}, c: {heard: 1}, a: {heard: 3}})), ["a", "b", "c"]);
  assert.deepEqual(users(sessions({b: {heard: 3}, c: {heard: 2}, a: {heard: 1}})), ["a", "b", "c"]);
});

test("`heard` every five minutes says that items come, and one 15 s after the last that they stopped", () => {
  const isStuck = (/** @type {any} */ facts) =>
    table(sessions({anna: facts}), {name: "", status: ""}, now).silent === 1;
  assert.equal(isStuck({heard: 290, published: 289}), false, "another one is due");
  assert.equal(isStuck({heard: 400, published: 399}), true, "it did not come: the owner is away");
  assert.equal(isStuck({heard: 100, published: 85}), true);
  assert.equal(isStuck({heard: 59, published: 44}), false);
});

test("the values of a row that was shown count until `heard` is newer: a session that resumes stays live", () => {
  const all = sessions({anna: {heard: 200, published: 185}});
  receive(all, topic("anna", "metrics"), {s: now * 1000, c: now - 1, d: 5000, h: 140});
  const [row] = table(all, {name: "", status: ""}, now).rows;
  assert.equal(row.since, now - 1);
  assert.equal(rowText(row, "metric", now).heartRate, "140 bpm");
  const facts = all.get("session-anna");
  assert.ok(facts);
  facts.metrics = undefined;
  assert.equal(table(all, {name: "", status: ""}, now + 200).silent, 0);
  assert.equal(table(all, {name: "", status: ""}, now + 400).silent, 1);
  receive(all, topic("anna", "heard/samples"), {s: (now + 15) * 1000, c: now, n: 9, gaps: []});
  assert.equal(table(all, {name: "", status: ""}, now + 100).silent, 1);
});

test("an older message changes nothing, and a cleared or deleted session is gone", () => {
  const all = sessions({anna: {}});
  receive(all, topic("anna", "state"), {status: "paused", revision: 1});
  assert.equal(all.get("session-anna")?.state.status, "active");
  receive(all, topic("anna", "heard/samples"), undefined);
  receive(all, topic("anna", "state"), {status: "deleted", revision: now * 1000});
  assert.equal(all.size, 0);
});

test("of 10,000 sessions the first hundred are shown, whatever their order", () => {
  const people = Object.fromEntries(
    Array.from({length: 10_000}, (_, index) => [`u${index}`, {heard: 100 + (index * 7919) % 10_000}]));
  const all = sessions(people);
  const {rows, matches} = table(all, {name: "", status: ""}, now);
  assert.equal(matches, 10_000);
  assert.equal(rows.length, 100);
  const sorted = Object.entries(people).sort(([, a], [, b]) => b.heard - a.heard).slice(0, 100).map(([user]) => user);
  assert.deepEqual(rows.map(({facts}) => facts.user), sorted);
  assert.equal(shownText(matches, rows.length), "The first 100 of 10,000 sessions");
});

test("the headline names what needs attention", () => {
  const online = {engine: {a: {status: "online", heardAt: now}}};
  const text = (/** @type {any} */ people, /** @type {any} */ services = online) =>
    headline(table(sessions(people), {name: "", status: ""}, now), services, now);
  assert.deepEqual(text({}), {text: "No session silent; all services online.", isTrouble: false});
  assert.equal(text({a: {heard: 100}, b: {status: "saving"}}).text,
    "1 session silent for over a minute; 1 session saving for over a minute; all services online.");
  assert.deepEqual(text({}, {engine: {a: {status: "offline", heardAt: now}}}),
    {text: "No session silent; engine offline.", isTrouble: true});
  assert.equal(text({}, {}).text, "No session silent; no service known yet.");
  const gone = {status: "online", heardAt: now - 100};
  assert.equal(
    text({}, {a: {a: gone}, b: {a: gone}, c: {a: gone}, d: {a: gone}}).text, "No session silent; 4 services offline.");
});

test("services, figures and strangers' texts as people read them", () => {
  const services = {
    engine: {
      a: {status: "online", heardAt: now, shards: "00-ff", version: "1"},
      b: {status: "offline", heardAt: now, since: now}
    }
  };
  assert.deepEqual(servicesText(services, now), [{
    name: "engine",
    isOnline: true,
    text: "Online",
    replicas: ["a: all sessions, version 1", "b: offline since 22:13:20 UTC"]
  }]);
  const figures = Object.fromEntries(figuresText({
    "heap/current": 12_345,
    "load/bytes/sent/1min": 60,
    "retained messages/count": 4,
    "store/messages/count": 7,
    uptime: 3700
  }));
  assert.deepEqual(
    [figures.Heap, figures["Data a second"], figures["In queues"], figures["Running for"], figures.Clients],
    ["12.3 kB", "-- in, 1 B out", "3", "1:01:40", "--"]);
  assert.equal(printable("a\u202eb\n"), "a?b?");
  assert.equal(printable("x".repeat(200)).length, 121);
  assert.equal(age(200_000), "2 d 7 h");
  assert.equal(utc(now), "22:13:20 UTC");
  assert.deepEqual(countsOf(table(sessions({a: {heard: 100}}), {name: "", status: ""}, now))[0],
    {label: "Silent", status: "silent", number: "1", isTrouble: true});
});

test("figures of several brokers are added, and the last start counts", () => {
  assert.deepEqual(
    sums([{"heap/current": 2, uptime: 50}, {"heap/current": 3, uptime: 40}]), {"heap/current": 5, uptime: 40});
  assert.deepEqual(sums([]), {});
});
