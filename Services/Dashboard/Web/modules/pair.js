// The page of a link that `compose/user pair` shows: asks whose device this browser shall be, and logs it in.

import {nameDevice} from "./device-names.js";
import {byID, setText, show} from "./dom.js";

const form = /** @type {HTMLFormElement} */ (byID("form"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
const token = location.hash.slice(1);
/** Whose device the browser becomes, and its name. */
let [user, device] = ["", ""];
// The history keeps no token, nor does a picture of the address.
history.replaceState(null, "", location.pathname);

/** @param {string} text */
function refuse(text) {
  setText(byID("error"), text);
  show(byID("error"), true);
}

/**
 * Asks the server about the token.
 *
 * @param {Record<string, string>} fields @returns {Promise<Response | undefined>} nothing once the page says why not
 */
async function post(fields) {
  try {
    const response =
      await fetch("/pair", {method: "POST", body: new URLSearchParams({token, ...fields}), redirect: "error"});
    if (response.ok) return response;
    const {error} = await response.json().catch(() => ({}));
    refuse(error?.message ?? `The server refused the link with status ${response.status}.`);
    show(form, false);
  } catch {
    refuse("The server does not answer. Try again.");
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  if (await post({accept: "true"})) {
    // Recordings of this browser have the name of the password.
    nameDevice(user, "phone", "", device);
    show(form, false);
    show(byID("error"), false);
    show(byID("apple"), /iPhone|iPad|Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1);
    show(byID("paired"), true);
    byID("go").focus();
  }
  button.disabled = false;
});

if (token === "") {
  refuse("This address pairs a phone only with the link or QR code that compose/user pair NAME shows.");
} else {
  const answer = await post({});
  if (answer) {
    ({user, device} = await answer.json());
    setText(byID("title"), `Record as ${user}?`);
    setText(byID("user"), user);
    setText(byID("device"), device);
    show(form, true);
    button.focus();
  }
}
