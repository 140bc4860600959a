// The account of a topic, and its broker among several.

import assert from "node:assert/strict";
import test from "node:test";

import {partitionOf} from "../../../Services/Dashboard/Web/modules/partitions.js";
import {accountOf, sessionTopic, userTopic} from "../../../Services/Dashboard/Web/modules/topics.js";

test("an account's broker is the CRC-32 of its name modulo their number", () => {
  // The check value of CRC-32, as the services compute it.
  for (let count = 1; count < 10; count++) assert.equal(partitionOf("123456789", count), 0xcbf43926 % count);
  assert.equal(partitionOf("åsa", 1), 0);
});

test("topics of an account and of its sessions name it", () => {
  for (const topic of [userTopic("anna", "viewers/coach/request"), sessionTopic("anna", "AB", "state")])
    assert.equal(accountOf(topic), "anna");
});
