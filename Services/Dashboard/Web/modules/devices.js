// The devices with a password of their own, and when each was last used. The broker knows both.

import {byID, make, setList, show} from "./dom.js";
import {when} from "./format.js";
import {bus, login} from "./page.js";

/** @typedef {{ device: string, at?: number, online?: true }} Device `at`: Unix seconds; absent before the first use */

/** @param {Device} device */
export const useText = ({at, online}) => online ? "connected now"
  : at                                          ? `last used ${when(at)}`
                                                : "not used since the server was last started";

/** Shows the list as long as the page is open. */
export function showDevices() {
  bus.subscribe(`$SYS/pacebus/accounts/${login}`, {
    onMessage(_, account) {
      /** @type {Device[]} */
      const devices = [...account?.devices ?? []];
      const rows = devices.sort((a, b) => (a.device < b.device ? -1 : 1)).map((each) => [each.device, useText(each)]);
      show(byID("devices-part"), rows.length > 0);
      setList(byID("devices"), rows,
        ([device, text]) => make("div", {}, make("dt", {textContent: device}), make("dd", {textContent: text})));
    }
  });
}
