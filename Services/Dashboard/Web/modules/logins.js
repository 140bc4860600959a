// What the broker publishes of an account's browsers and devices, as text.

import {when} from "./format.js";

/**
 * @typedef {{ device: string, at?: number, online?: true }} Device `at`: Unix seconds; absent before the first use
 * @typedef {{ login: string, browser: string, began: number, at: number, online?: true }} WebLogin `browser`: marks of
 *   its User-Agent, `CriOS_iPhone`
 * @typedef {{ revision: number, before?: number, logins: { id: string }[] }} SignedOut
 */

/** @type {Record<string, string>} for marks that are no names */
const names = {
  CriOS: "Chrome",
  CrOS: "ChromeOS",
  Edg: "Edge",
  FxiOS: "Firefox",
  OPR: "Opera",
  Samsung: "Samsung Internet"
};
/** Seconds after which a login ends, and after which it ends without use. */
const [longest, longestUnused] = [30 * 86_400, 7 * 86_400];

/** @param {Pick<Device, "at" | "online">} use */
export const useText = ({at, online}) => online ? "connected now"
  : at                                          ? `last used ${when(at)}`
                                                : "not used since the server was last started";

/** @param {string} marks */
export const browserText = (marks) => marks.split("_").map((mark) => names[mark] ?? mark).join(" on ");

/** @param {WebLogin} login @param {SignedOut | undefined} ended @param {number} now @returns whether the login is over */
export const isOver = ({login, began, at, online}, ended, now) => began <= (ended?.before ?? 0) ||
  ended?.logins.some(({id}) => id === login) === true || now - began > longest || (!online && now - at > longestUnused);
