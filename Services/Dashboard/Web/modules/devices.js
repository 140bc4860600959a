// The browsers that are logged in and the devices with a password of their own, and when each was last used. The broker
// knows them.

import {byID, enable, make, setList, setText, show} from "./dom.js";
import {browserText, isOver, useText} from "./logins.js";
import {bus, login, reader, serverNow} from "./page.js";
import {isOlder, userTopic} from "./topics.js";

/**
 * @typedef {import("./logins.js").Device} Device
 * @typedef {import("./logins.js").WebLogin} WebLogin
 * @typedef {import("./logins.js").SignedOut} SignedOut
 */

/** Shows the lists as long as the page is open. @returns {Promise<void>} once they are drawn first */
export function showDevices() {
  /** @type {{ devices?: Device[], logins?: WebLogin[] } | undefined} */
  let account;
  /** @type {SignedOut | undefined} */
  let ended;
  const topic = `$SYS/pacebus/accounts/${login}`;
  const draw = () => {
    const devices = [...account?.devices ?? []].sort((a, b) => (a.device < b.device ? -1 : 1));
    show(byID("devices-part"), devices.length > 0);
    setList(byID("devices"), devices.map((each) => [each.device, useText(each)]),
      ([device, text]) => make("div", {}, make("dt", {textContent: device}), make("dd", {textContent: text})));
    const logins = account?.logins ?? [];
    const others = logins.filter((each) => each.login !== reader.login && !isOver(each, ended, serverNow()));
    const rows = others.map((each) => [browserText(each.browser), useText(each), each.login]);
    show(byID("logins-part"), true);
    setList(byID("logins"), [["This browser", "connected now"], ...rows], loginRow);
  };
  return new Promise((/** @type {(value: void) => void} */ resolve) => {
    bus.subscribe([topic, userTopic(login, "signed-out")], {
      onMessage(name, message) {
        if (name === topic) account = message;
        else if (!isOlder(ended, message)) ended = message;
        draw();
      },
      onReady() {
        draw();
        resolve();
      }
    });
  });
}

/** @param {string[]} row name, use, and of another browser the login */
function loginRow([name, use, id]) {
  const row = make("li", {}, make("div", {}, make("strong", {textContent: name}), make("span", {textContent: use})));
  if (id === undefined) return row;
  const button = make("button", {type: "button", textContent: "Log out"});
  button.setAttribute("aria-label", `Log out ${name}, ${use}`);
  button.addEventListener("click", async () => {
    enable(button, false);
    setText(byID("logins-error"), "");
    try {
      await bus.ask(userTopic(login, "sign-out"), {type: "one", login: id});
    } catch (error) {
      setText(byID("logins-error"), `${name} is not logged out: ${/** @type {Error} */ (error).message}`);
    }
    enable(button, true);
  });
  row.append(button);
  return row;
}
