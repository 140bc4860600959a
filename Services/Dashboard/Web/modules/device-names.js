// The names of this browser's sensors as devices of the bus.

import {attempt, randomHex} from "./requests.js";

/** @param {string} user */
const keyOf = (user) => `pacebus.devices.${user}`;
/** @param {string} user @returns {Record<string, string>} by kind and the browser's id of a sensor */
const namesOf = (user) => attempt(() => JSON.parse(localStorage.getItem(keyOf(user)) ?? "{}")) ?? {};

/**
 * The name of a sensor, drawn at its first use.
 *
 * @param {string} user @param {string} kind `phone`, `strap` or `pod` @param {string} sensor the browser's id of it
 */
export const deviceOf = (user, kind, sensor) =>
  namesOf(user)[`${kind} ${sensor}`] ?? nameDevice(user, kind, sensor, `${kind}-${randomHex(4)}`);

/** @param {string} user @param {string} kind @param {string} sensor @param {string} device */
export function nameDevice(user, kind, sensor, device) {
  attempt(() => localStorage.setItem(keyOf(user), JSON.stringify({...namesOf(user), [`${kind} ${sensor}`]: device})));
  return device;
}
