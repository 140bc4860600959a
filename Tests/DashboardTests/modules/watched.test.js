import assert from "node:assert/strict";
import {test} from "node:test";
import {People} from "../../../Services/Dashboard/Web/modules/watched.js";

/** A bus that counts filters, and answers subscriptions when `settle` is called. */
function connect() {
  const filters = new Map();
  const waiting = [];
  const bus = {
    most: 0,
    subscribe(topics, {onMessage, onReady}) {
      const subscription = {topics, onMessage};
      for (const topic of topics) filters.set(topic, new Set([...filters.get(topic) ?? [], subscription]));
      bus.most = Math.max(bus.most, filters.size);
      waiting.push(onReady);
      return () => {
        for (const topic of topics) {
          filters.get(topic).delete(subscription);
          if (filters.get(topic).size === 0) filters.delete(topic);
        }
      };
    }
  };
  return {
    bus,
    settle: (count = Infinity) => waiting.splice(0, count).forEach((onReady) => onReady()),
    publish(topic, payload) {
      for (const {onMessage} of [...filters.get(topic) ?? []]) onMessage(topic, payload);
    },
    names: () => [...filters.keys()].map((topic) => topic.replace("pacebus/v1/", "")).sort()
  };
}

const sessionOf = (user, number = 0) => `0B9F6D1E-1F1A-4C58-9A55-${user.padStart(10, "0")}${number}A`;
const current = (user) => `pacebus/v1/u/${user}/current`;
const topic = (user, name, number = 0) =>
  `pacebus/v1/${number}a/${user}/${sessionOf(user, number).toLowerCase()}/${name}`;

function begin(users) {
  const world = connect();
  const events = [];
  let ready = 0;
  const people = new People(world.bus, (name, {user, payload}) => events.push([name, user, payload]), () => ready++);
  people.watch(users);
  return {...world, people, events, ready: () => ready};
}

test("a person has a current, and its session state and metrics", () => {
  const {publish, names, events} = begin(["anna"]);
  assert.deepEqual(names(), ["u/anna/current"]);
  publish(current("anna"), {session: sessionOf("anna")});
  const session = `0a/anna/${sessionOf("anna").toLowerCase()}`;
  assert.deepEqual(names(), [`${session}/metrics`, `${session}/state`, "u/anna/current"]);
  publish(topic("anna", "state"), {status: "active"});
  publish(topic("anna", "metrics"), {d: 5});
  publish(topic("anna", "metrics"), undefined);
  assert.deepEqual(events.slice(1), [["state", "anna", {status: "active"}], ["metrics", "anna", {d: 5}]]);
});

test("a session that ends keeps its state until the next one, and its record comes", () => {
  const {publish, names} = begin(["anna"]);
  publish(current("anna"), {session: sessionOf("anna")});
  publish(current("anna"), {session: null});
  const end = ["state", "workout"].map((name) => topic("anna", name).replace("pacebus/v1/", ""));
  assert.deepEqual(names(), [...end, "u/anna/current"]);
  // Recovered.
  publish(current("anna"), {session: sessionOf("anna")});
  assert.ok(names().includes(topic("anna", "metrics").replace("pacebus/v1/", "")));
  publish(current("anna"), {session: null});
  publish(current("anna"), {session: null});
  assert.deepEqual(names(), [...end, "u/anna/current"]);
  publish(current("anna"), {session: sessionOf("anna", 1)});
  assert.equal(names().filter((name) => name.startsWith("0a")).length, 0);
  assert.equal(names().length, 3);
  publish(current("anna"), undefined);
  assert.equal(names().length, 3);
});

test("nothing of a person who may no longer be seen stays subscribed", () => {
  const {people, publish, names} = begin(["anna", "ben"]);
  for (const user of ["anna", "ben"]) publish(current(user), {session: sessionOf(user)});
  people.watch(["anna", "carla"]);
  assert.ok(!names().some((name) => name.includes("ben")));
  assert.equal(names().length, 4);
  people.watch([]);
  assert.deepEqual(names(), []);
});

test("all is ready once everyone's session has come", () => {
  const {people, publish, settle, ready} = begin(["anna", "ben"]);
  assert.deepEqual([people.isReady, ready()], [false, 0]);
  publish(current("anna"), {session: sessionOf("anna")});
  // The broker's answers to both, then to the session's topics.
  settle(2);
  assert.deepEqual([people.isReady, ready()], [false, 0]);
  settle();
  assert.deepEqual([people.isReady, ready()], [true, 1]);
  people.watch(["anna", "ben", "carla"]);
  assert.equal(people.isReady, false);
  people.watch(["anna", "ben"]);
  assert.equal(people.isReady, true);
  settle();
  people.watch([]);
  assert.equal(people.isReady, true);
});

// The broker's plugin: FILTER_COUNT and FILTER_SHARE. A page needs some for itself.
for (const count of [1, 20, 100, 300]) {
  test(`${count} people need no more filters than a connection may have`, () => {
    const users = Array.from({length: count}, (_, index) => `u${index}`);
    const {bus, publish, people} = begin(users);
    for (let number = 0; number < 3; number++) {
      for (const user of users) publish(current(user), {session: sessionOf(user, number)});
      for (const user of users) publish(current(user), {session: null});
    }
    people.watch(users.slice(0, count / 2));
    people.watch(users);
    assert.ok(bus.most <= 100 + 4 * count - 20, `${bus.most} filters`);
  });
}
