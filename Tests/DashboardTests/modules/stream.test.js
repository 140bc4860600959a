import assert from "node:assert/strict";
import { test } from "node:test";
import { idle, isOlder, step } from "../../../Services/Dashboard/Web/modules/stream.js";

/** Feeds events with their times; returns the last link and all actions. @param {...[any, number]} events */
function run(...events) {
  let link = idle();
  /** @type {string[]} */
  const actions = [];
  for (const [event, now] of events) {
    const result = step(link, typeof event === "string" ? { type: event } : event, now, 0.5);
    link = result.link;
    actions.push(...result.actions);
  }
  return { link, actions };
}

test("a stream without a beat for 20 s is opened again after a second", () => {
  const open = [["start", 0], ["opened", 1], ["event", 2]];
  assert.equal(run(...open, ["tick", 22]).link.phase, "open");
  assert.deepEqual(run(...open, ["tick", 22.5]).actions, ["close", "open", "close"]);
  assert.equal(run(...open, ["tick", 22.5], ["tick", 23]).link.phase, "waiting");
  assert.equal(run(...open, ["tick", 22.5], ["tick", 23.5]).link.phase, "connecting");
});

test("an attempt that does not open within 10 s ends, and the status is read", () => {
  const { link, actions } = run(["start", 0], ["tick", 10.5]);
  assert.equal(link.phase, "waiting");
  assert.deepEqual(actions, ["close", "open", "close", "check"]);
});

test("attempts follow after 1, 2, 5, 10, 20 and again 20 s, and an event starts over", () => {
  let { link } = run(["start", 0]);
  const waits = [];
  let now = 0;
  for (let i = 0; i < 6; i++) {
    link = step(link, { type: "failed" }, now, 0.5).link;
    waits.push(link.until - now);
    now = link.until;
    link = step(link, { type: "tick" }, now, 0.5).link;
  }
  assert.deepEqual(waits, [1, 2, 5, 10, 20, 20]);
  for (const type of ["opened", "event", "failed"]) link = step(link, { type }, now, 0.5).link;
  assert.equal(link.until - now, 1);
});

test("jitter spreads an attempt by a quarter to either side", () => {
  const { link } = run(["start", 0]);
  assert.equal(step(link, { type: "failed" }, 0, 0).link.until, 0.75);
  assert.equal(step(link, { type: "failed" }, 0, 1).link.until, 1.25);
});

test("401 leads to the login, 410 and 404 end the page, 503 waits as long as the server says", () => {
  const failed = [["start", 0], ["failed", 1]];
  assert.equal(run(...failed, [{ type: "status", status: 401 }, 1]).link.end, "login");
  assert.equal(run(...failed, [{ type: "status", status: 410 }, 1]).link.end, "gone");
  assert.equal(run(...failed, [{ type: "status", status: 404 }, 1]).link.end, "gone");
  assert.equal(run(...failed, [{ type: "status", status: 503, retryAfter: 30 }, 1]).link.until, 31);
  assert.equal(run(...failed, [{ type: "status", status: 401 }, 1], ["visible", 9], ["tick", 99]).link.phase, "over");
});

test("a page hidden for 60 s closes its stream and opens it when it is visible", () => {
  const open = [["start", 0], ["opened", 1], ["hidden", 10]];
  assert.equal(run(...open, ["event", 60], ["tick", 69]).link.phase, "open");
  const { link, actions } = run(...open, ["event", 60], ["tick", 70]);
  assert.equal(link.phase, "hidden");
  assert.equal(actions.at(-1), "close");
  assert.equal(step(link, { type: "visible" }, 500).link.phase, "connecting");
  assert.equal(step(link, { type: "tick" }, 500).link.phase, "hidden");
});

test("a page that is visible again before 60 s keeps its stream", () => {
  const { link } = run(["start", 0], ["opened", 1], ["hidden", 2], ["visible", 50], ["event", 55], ["tick", 70]);
  assert.equal(link.phase, "open");
});

test("a page from the back-forward cache checks the login and connects", () => {
  const { link, actions } = run(["start", 0], ["opened", 1], ["left", 2], ["returned", 900]);
  assert.equal(link.phase, "connecting");
  assert.deepEqual(actions.slice(-3), ["close", "check", "open"]);
});

test("an older revision is older, an equal or newer one is not", () => {
  assert.equal(isOlder({ revision: 5 }, { revision: 4 }), true);
  assert.equal(isOlder({ s: 5 }, { s: 5 }), false);
  assert.equal(isOlder(undefined, { s: 1 }), false);
});
