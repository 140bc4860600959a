// The screen in gloves and rain: the lock, and the choice to keep it on.

import {byID, show} from "./dom.js";
import {dialog} from "./page.js";

/** Touches do nothing until the padlock is held for a second. */
export function lock() {
  const locked = dialog("lock-dialog");
  const padlock = byID("unlock");
  let timer = 0;
  let isLocked = false;
  const hold = () => {
    if (timer) return;
    padlock.classList.add("held");
    timer = setTimeout(() => {
      release();
      isLocked = false;
      locked.close();
    }, 1000);
  };
  const release = () => {
    clearTimeout(timer);
    timer = 0;
    padlock.classList.remove("held");
  };
  byID("lock").addEventListener("click", () => {
    isLocked = true;
    locked.showModal();
  });
  locked.addEventListener("cancel", (event) => event.preventDefault());
  // A second Escape or the system's back gesture closes a dialog without asking.
  locked.addEventListener("close", () => isLocked && locked.showModal());
  padlock.addEventListener("pointerdown", hold);
  for (const end of ["pointerup", "pointerleave", "pointercancel", "keyup", "blur"])
    padlock.addEventListener(end, release);
  padlock.addEventListener("keydown", (event) => {
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      hold();
    }
  });
  padlock.addEventListener("contextmenu", (event) => event.preventDefault());
}

/** @type {any} TypeScript 4.8 has no types of wake locks */
let wakeLock;
let wantsAwake = false;
/** Whether the browser refused to keep the screen on, for example to save the battery. */
export let isAwakeRefused = false;

/** @param {boolean} isWanted */
export async function keepAwake(isWanted) {
  wantsAwake = isWanted;
  await wakeLock?.release();
  wakeLock = undefined;
  try {
    if (isWanted) wakeLock = await /** @type {any} */ (navigator).wakeLock.request("screen");
    isAwakeRefused = false;
  } catch {
    // A hidden page may not; it asks again when it is visible.
    if (!document.hidden) [wantsAwake, isAwakeRefused] = [false, true];
  }
  byID("awake").setAttribute("aria-pressed", String(wantsAwake));
}
show(byID("awake"), "wakeLock" in navigator);
byID("awake").addEventListener("click", () => keepAwake(!wantsAwake));
document.addEventListener("visibilitychange", () => !document.hidden && wantsAwake && keepAwake(true));
