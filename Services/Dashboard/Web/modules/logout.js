// Ends the reader's login, or all logins of the account, after a question about what has no answer yet.

import {forget} from "./chunks.js";
import {all, byID, make} from "./dom.js";
import {forgetExport} from "./export-copy.js";
import {attempt} from "./requests.js";
import {bus, dialog, login, presses, reader} from "./page.js";

/** Milliseconds for the answer of session-engine, which ends copies of the cookie too. */
const answerLimit = 3000;

/** @param {"one" | "all"} type */
export function logOut(type) {
  const unanswered = presses.all.filter(({refusal}) => refusal === undefined).map(({type}) => type);
  if (keptKeys(["recording.", "waiting."]).length > 0) unanswered.push("a recorded workout");
  if (unanswered.length === 0) return end(type, true);
  byID("unanswered").replaceChildren(...unanswered.map((text) => make("li", {}, text)));
  byID("log-out-keep").onclick = () => end(type, false);
  byID("log-out-discard").onclick = () => end(type, true);
  dialog("log-out-dialog").showModal();
}

/** @param {"one" | "all"} type @param {boolean} isForgotten whether this browser forgets what has no answer */
async function end(type, isForgotten) {
  for (const button of all("#log-out-dialog button")) /** @type {HTMLButtonElement} */
    (button).disabled = true;
  if (isForgotten) presses.discard();
  const message = {type, ...(type === "one" ? {login: reader.login} : {})};
  const answer = bus.ask(`pacebus/v1/u/${login}/sign-out`, message).catch(() => {});
  await Promise.race([answer, new Promise((resume) => setTimeout(resume, answerLimit))]);
  bus.close();
  attempt(() => sessionStorage.clear());
  await forgetPages().catch(() => {});
  attempt(() => forget(login));
  for (const name of ["history", "imports"]) attempt(() => indexedDB.deleteDatabase(`pacebus.${name}.${login}`));
  await forgetExport(login);
  if (isForgotten) {
    for (const key of keptKeys(["refused.", "recording.", "waiting.", "devices."]))
      attempt(() => localStorage.removeItem(key));
    attempt(() => indexedDB.deleteDatabase(`pacebus.streams.${login}`));
  }
  for (const key of ["pacebus.account", "pacebus.reader", `pacebus.export.${login}`, ...keptKeys(["imports."])])
    attempt(() => localStorage.removeItem(key));
  // Without the server the cookie stays, and so does the page.
  const isLeft = await fetch("/logout", {method: "POST", redirect: "error"}).then(({ok}) => ok, () => false);
  location.assign(isLeft ? "/login" : location.href);
}

/**
 * What this browser keeps for the account, under names that begin so.
 *
 * @param {string[]} names
 */
const keptKeys = (names) => (attempt(() => Object.keys(localStorage)) ??
  []).filter((key) => names.some((name) => `${key}.`.startsWith(`pacebus.${name}${login}.`)));

/** The pages that are kept for a visit without a connection. */
async function forgetPages() {
  const names = (await caches.keys()).filter((name) => name.startsWith("pacebus "));
  await Promise.all(names.map((name) => caches.delete(name)));
}
