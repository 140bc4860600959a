import assert from "node:assert";
import {test} from "node:test";

import {browserText, isOver, useText} from "../../../Services/Dashboard/Web/modules/logins.js";

test("a browser's marks become names", () => {
  assert.equal(browserText("CriOS_iPhone"), "Chrome on iPhone");
  assert.equal(browserText("Samsung_Android"), "Samsung Internet on Android");
  assert.equal(browserText("Safari_Mac"), "Safari on Mac");
  assert.equal(browserText("Browser"), "Browser");
});

test("a use without a time is none", () => {
  assert.equal(useText({}), "not used since the server was last started");
  assert.equal(useText({at: 5, online: true}), "connected now");
  assert.match(useText({at: 5}), /^last used /);
});

const day = 86_400;
const login = {
  login: "a",
  browser: "Chrome",
  began: 100 * day,
  at: 101 * day
};

test("a login is over if it was ended, 30 days after it began, and after 7 days without use", () => {
  /** @param {object} change @param {any} ended @param {number} days */
  const over = (change, ended, days) => isOver({...login, ...change}, ended, days * day);
  assert.equal(over({}, undefined, 102), false);
  assert.equal(over({}, {revision: 1, logins: [{id: "b"}]}, 102), false);
  assert.equal(over({}, {revision: 1, logins: [{id: "b"}, {id: "a"}]}, 102), true);
  assert.equal(over({}, {revision: 1, before: 100 * day - 0.001, logins: []}, 102), false);
  assert.equal(over({}, {revision: 1, before: 100 * day, logins: []}, 102), true);
  assert.deepEqual([108, 108.1].map((days) => over({}, undefined, days)), [false, true]);
  assert.equal(over({online: true}, undefined, 108.1), false);
  assert.deepEqual([130, 130.1].map((days) => over({online: true}, undefined, days)), [false, true]);
});
