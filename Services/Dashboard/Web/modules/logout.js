// Ends the reader's login, or all logins of the account, after a question about what has no answer yet.

import {forget} from "./chunks.js";
import {all, byID, make} from "./dom.js";
import {attempt} from "./requests.js";
import {bus, dialog, login, presses, reader} from "./page.js";

/** Milliseconds for the answer of session-engine, which ends copies of the cookie too. */
const answerLimit = 3000;

/** @param {"one" | "all"} type */
export function logOut(type) {
  const unanswered = presses.all.filter(({refusal}) => refusal === undefined);
  if (unanswered.length === 0) return end(type, true);
  byID("unanswered").replaceChildren(...unanswered.map(({type}) => make("li", {}, type)));
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
  attempt(() => forget(login));
  attempt(() => indexedDB.deleteDatabase(`pacebus.history.${login}`));
  if (isForgotten) {
    for (const key of attempt(() => Object.keys(localStorage)) ?? [])
      if (key.startsWith(`pacebus.refused.${login}`)) attempt(() => localStorage.removeItem(key));
  }
  // Without the server the cookie stays, and so does the page.
  const isLeft = await fetch("/logout", {method: "POST", redirect: "error"}).then(({ok}) => ok, () => false);
  location.assign(isLeft ? "/login" : location.href);
}
