import assert from "node:assert/strict";
import {test} from "node:test";

import {onlineServices, receivePresence} from "../../../Services/Dashboard/Web/modules/services.js";
import {isOlder, sessionTopic, userTopic} from "../../../Services/Dashboard/Web/modules/topics.js";

const topic = "pacebus/v1/services/_exporter/exporter-0123456789abcdef";
const other = "pacebus/v1/services/_exporter/exporter-fedcba9876543210";

test("a service is online while one of its processes renews its presence", () => {
  let services = receivePresence({}, topic, {status: "online", at: 1000}, 1000);
  assert.deepEqual(onlineServices(services, 1059), {exporter: true});
  assert.deepEqual(onlineServices(services, 1060), {exporter: false});
  services = receivePresence(services, topic, {status: "online", at: 1000}, 1050);
  assert.deepEqual(onlineServices(services, 1060), {exporter: false}, "delivered again, it renews nothing");
  services = receivePresence(services, topic, {status: "online", at: 1050}, 1050);
  services = receivePresence(services, other, {status: "online", at: 1050}, 1050);
  services = receivePresence(services, topic, {status: "offline", at: 1055}, 1055);
  assert.deepEqual(onlineServices(services, 1060), {exporter: true});
  assert.equal(services.exporter["exporter-0123456789abcdef"].since, 1055);
  services = receivePresence(services, other, undefined, 1056);
  assert.deepEqual(onlineServices(services, 1060), {exporter: false}, "the service stays known");
});

test("a retained presence of a process that ended long ago counts as offline", () => {
  const services = receivePresence({}, topic, {status: "online", at: 500}, 1000);
  assert.deepEqual(onlineServices(services, 1000), {exporter: false});
  assert.deepEqual(onlineServices(receivePresence({}, topic, {status: "online"}, 1000), 1030), {exporter: true});
});

test("the newest revision counts, and an equal one is no older", () => {
  assert.equal(isOlder(undefined, {revision: 1}), false);
  assert.equal(isOlder({revision: 2}, {revision: 1}), true);
  assert.equal(isOlder({s: 2}, {s: 2}), false);
  assert.equal(isOlder({s: 2}, {}), true);
});

test("topics have the session in lower case, and its shard", () => {
  assert.equal(sessionTopic("anna", "0B9F6D1E-1F1A-4C58-9A55-3F0C1DE0AA07", "state"),
    "pacebus/v1/07/anna/0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07/state");
  assert.equal(userTopic("anna", "runs/+"), "pacebus/v1/u/anna/runs/+");
});
