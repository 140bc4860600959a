// The login page: posts the form, shows why it was refused, and opens the page that asked for the login.

import {byID, kept, setText, show} from "./dom.js";

const form = /** @type {HTMLFormElement} */ (byID("form"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));

/** The path of this site that asked for the login. `//host` and `/\host` name other sites. */
function target() {
  const to = new URLSearchParams(location.search).get("to") ?? "/";
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : "/";
}

/** @param {string} text */
function refuse(text) {
  setText(byID("error"), text);
  show(byID("error"), true);
}

// Whose login has ended here, without logging out.
const account = kept("pacebus.account");
if (account) {
  const [name, password] =
    ["name", "password"].map((field) => /** @type {HTMLInputElement} */ (form.elements.namedItem(field)));
  name.value = account;
  password.focus();
  show(byID("ended"), true);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  try {
    const response = await fetch("/login", {method: "POST", body, redirect: "error"});
    if (response.ok) return location.replace(target());
    const {error} = await response.json().catch(() => ({}));
    refuse(error?.message ?? `The server refused the login with status ${response.status}.`);
    if (response.status === 401) {
      const password = /** @type {HTMLInputElement} */ (form.elements.namedItem("password"));
      password.value = "";
      password.focus();
    }
  } catch {
    refuse("The server does not answer. Try again.");
  }
  button.disabled = false;
});
