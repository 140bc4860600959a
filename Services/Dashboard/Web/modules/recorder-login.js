// A login that ends while a workout is recorded. The page stays, records, and takes the password again.

import {byID, setText, show} from "./dom.js";

/** Takes the end of a login in place of the page, which would leave for the login page. */
export class RecorderLogin {
  /** Whether the server takes nothing without a new login. */
  hasEnded = false;
  /** @type {() => void} */
  onChange = () => {};
  #isReleased = false;

  /** @param {import("./bus.js").Bus} bus @param {string} user */
  constructor(bus, user) {
    this.bus = bus;
    this.user = user;
    const {onState} = bus.options;
    this.pass = onState;
    bus.options.onState = (state, reason) => {
      if (this.#isReleased || (state !== "login" && state !== "refused")) {
        if (state === "open") this.#set(false);
        return onState(state, reason);
      }
      // With a changed password the cookie still counts.
      if (state === "refused") this.#set(true);
      else this.#look();
    };
    // Another tab may have renewed it.
    document.addEventListener("visibilitychange", () => !document.hidden && this.hasEnded && this.#look());
    // For managers of passwords.
    /** @type {HTMLInputElement} */ (byID("login-name")).value = user;
    byID("login-again").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#logIn();
    });
  }

  /** The recording is over: the page may leave. */
  release() {
    this.#isReleased = true;
    if (this.hasEnded) this.pass("login", undefined);
  }

  /** @param {boolean} hasEnded */
  #set(hasEnded) {
    if (hasEnded === this.hasEnded) return;
    this.hasEnded = hasEnded;
    show(byID("login-again"), hasEnded);
    this.onChange();
  }

  async #look() {
    const isValid = await fetch("/me", {cache: "no-store"}).then(({status}) => status !== 401, () => true);
    if (isValid) this.bus.open();
    else this.#set(true);
  }

  async #logIn() {
    const [password, button] = [/** @type {HTMLInputElement} */ (byID("login-password")), byID("login-again-button")];
    button.toggleAttribute("disabled", true);
    const refusal = await this.#send(password.value);
    button.toggleAttribute("disabled", false);
    password.value = "";
    setText(byID("login-error"), refusal ?? "");
    show(byID("login-error"), refusal !== undefined);
    if (refusal === undefined) this.bus.open();
  }

  /** @param {string} password @returns {Promise<string | undefined>} why it was refused */
  async #send(password) {
    try {
      const body = new URLSearchParams({name: this.user, password});
      const response = await fetch("/login", {method: "POST", body, redirect: "error"});
      if (response.ok) return undefined;
      const {error} = await response.json().catch(() => ({}));
      return error?.message ?? `The server refused the login with status ${response.status}.`;
    } catch {
      return "The server does not answer. Try again.";
    }
  }
}
