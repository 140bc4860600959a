import assert from "node:assert/strict";
import {afterEach, test} from "node:test";
import {ServerClock, idle, isOlder, step} from "../../../Services/Dashboard/Web/modules/stream.js";

/** Feeds events with their times; returns the last link and all actions. @param {...[any, number]} events */
function run(...events) {
  let link = idle();
  /** @type {string[]} */
  const actions = [];
  for (const [event, now] of events) {
    const result = step(link, typeof event === "string" ? {type: event} : event, now, 0.5);
    link = result.link;
    actions.push(...result.actions);
  }
  return {link, actions};
}

test("a stream without a beat for 20 s is opened again after a second", () => {
  const open = [["start", 0], ["opened", 1], ["event", 2]];
  assert.equal(run(...open, ["tick", 22]).link.phase, "open");
  assert.deepEqual(run(...open, ["tick", 22.5]).actions, ["close", "open", "close"]);
  assert.equal(run(...open, ["tick", 22.5], ["tick", 23]).link.phase, "waiting");
  assert.equal(run(...open, ["tick", 22.5], ["tick", 23.5]).link.phase, "connecting");
});

test("an attempt that does not open within 10 s ends, and the status is read", () => {
  const {link, actions} = run(["start", 0], ["tick", 10.5]);
  assert.equal(link.phase, "waiting");
  assert.deepEqual(actions, ["close", "open", "close", "check"]);
});

test("attempts follow after 1, 2, 5, 10, 20 and again 20 s, and an event starts over", () => {
  let {link} = run(["start", 0]);
  const waits = [];
  let now = 0;
  for (let i = 0; i < 6; i++) {
    link = step(link, {type: "failed"}, now, 0.5).link;
    waits.push(link.until - now);
    now = link.until;
    link = step(link, {type: "tick"}, now, 0.5).link;
  }
  assert.deepEqual(waits, [1, 2, 5, 10, 20, 20]);
  for (const type of ["opened", "event", "failed"]) link = step(link, {type}, now, 0.5).link;
  assert.equal(link.until - now, 1);
});

test("jitter spreads an attempt by a quarter to either side", () => {
  const {link} = run(["start", 0]);
  assert.equal(step(link, {type: "failed"}, 0, 0).link.until, 0.75);
  assert.equal(step(link, {type: "failed"}, 0, 1).link.until, 1.25);
});

test("401 leads to the login, 410 and 404 end the page, 503 waits as long as the server says", () => {
  const failed = [["start", 0], ["failed", 1]];
  assert.equal(run(...failed, [{type: "status", status: 401}, 1]).link.end, "login");
  assert.equal(run(...failed, [{type: "status", status: 410}, 1]).link.end, "gone");
  assert.equal(run(...failed, [{type: "status", status: 404}, 1]).link.end, "gone");
  assert.equal(run(...failed, [{type: "status", status: 503, retryAfter: 30}, 1]).link.until, 31);
  assert.equal(run(...failed, [{type: "status", status: 401}, 1], ["visible", 9], ["tick", 99]).link.phase, "over");
});

test("the server's reason for a refusal holds until a stream opens", () => {
  const refused = [["start", 0], ["failed", 1], [{type: "status", status: 503, retryAfter: 5, reason: "8 pages"}, 1]];
  assert.equal(run(...refused, ["tick", 6]).link.phase, "connecting");
  assert.equal(run(...refused, ["tick", 6]).link.reason, "8 pages");
  assert.equal(run(...refused, ["tick", 6], ["opened", 7]).link.reason, undefined);
  assert.equal(run(...refused, ["tick", 6], ["failed", 7], [{type: "status", status: 503}, 7]).link.reason, undefined);
});

test("a page hidden for 60 s closes its stream and opens it when it is visible", () => {
  const open = [["start", 0], ["opened", 1], ["hidden", 10]];
  assert.equal(run(...open, ["event", 60], ["tick", 69]).link.phase, "open");
  const {link, actions} = run(...open, ["event", 60], ["tick", 70]);
  assert.equal(link.phase, "hidden");
  assert.equal(actions.at(-1), "close");
  assert.equal(step(link, {type: "visible"}, 500).link.phase, "connecting");
  assert.equal(step(link, {type: "tick"}, 500).link.phase, "hidden");
});

test("a page that is visible again before 60 s keeps its stream", () => {
  const {link} = run(["start", 0], ["opened", 1], ["hidden", 2], ["visible", 50], ["event", 55], ["tick", 70]);
  assert.equal(link.phase, "open");
});

test("a page from the back-forward cache checks the login and connects", () => {
  const {link, actions} = run(["start", 0], ["opened", 1], ["left", 2], ["returned", 900]);
  assert.equal(link.phase, "connecting");
  assert.deepEqual(actions.slice(-3), ["close", "check", "open"]);
});

test("an older revision is older, an equal or newer one is not", () => {
  assert.equal(isOlder({revision: 5}, {revision: 4}), true);
  assert.equal(isOlder({s: 5}, {s: 5}), false);
  assert.equal(isOlder(undefined, {s: 1}), false);
});

/** A server's clock in a browser whose clocks a test sets, in seconds. */
function clocks() {
  const at = {wall: 5_000, uptime: 100};
  Date.now = () => at.wall * 1000;
  performance.now = () => at.uptime * 1000;
  const pass = (/** @type {number} */ seconds) => {
    at.wall += seconds;
    at.uptime += seconds;
  };
  return {at, pass, clock: new ServerClock()};
}
const real = {
  wall: Date.now,
  uptime: performance.now
};
afterEach(() => {
  Date.now = real.wall;
  performance.now = real.uptime;
});

test("the server's clock follows a beat, whatever this browser's clock says", () => {
  const {at, pass, clock} = clocks();
  assert.equal(clock.exact, undefined);
  assert.equal(clock.now, 5_000);
  clock.receive(90_000);
  pass(7);
  assert.equal(clock.exact, 90_007);
  assert.equal(clock.now, 90_007);
  // The clock steps by ten minutes: only the next beat brings the exact time back.
  at.wall -= 600;
  assert.equal(clock.exact, undefined);
  clock.receive(90_008);
  assert.equal(clock.exact, 90_008);
});

test("after its device slept a page knows the time about, and no exact one", () => {
  const {at, clock} = clocks();
  clock.receive(90_000);
  at.wall += 3600;
  assert.equal(clock.exact, undefined);
  assert.equal(clock.now, 93_600);
});

test("a delayed beat changes nothing for a minute", () => {
  const {pass, clock} = clocks();
  clock.receive(90_000);
  pass(30);
  clock.receive(90_015);
  assert.equal(clock.exact, 90_030);
  pass(31);
  clock.receive(90_046);
  assert.equal(clock.exact, 90_046);
});
