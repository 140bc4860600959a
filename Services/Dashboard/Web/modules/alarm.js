// The sound for people in trouble, by the reader's choice.

import {all, byID, keep, kept, setText} from "./dom.js";
import {beep, mayPlay} from "./sound.js";

const boxes = all("[name='alert']").map((e) => /** @type {HTMLInputElement} */ (e));
/** @type {AudioContext | undefined} */
let audio;

for (const box of boxes) {
  box.checked = (kept("pacebus.alerts") ?? "").split(" ").includes(box.value);
  box.addEventListener("change", () => {
    keep("pacebus.alerts", boxes.filter(({checked}) => checked).map(({value}) => value).join(" "));
    prepareSound();
  });
}
for (const type of ["pointerdown", "keydown"]) addEventListener(type, prepareSound);
prepareSound();

/** Browsers allow sound after a press on the page only. */
function prepareSound() {
  const isWanted = boxes.some(({checked}) => checked);
  if (isWanted && mayPlay()) {
    audio ??= new AudioContext();
    audio.resume().then(drawSound, () => {});
  }
  drawSound();
}

function drawSound() {
  const isWanted = boxes.some(({checked}) => checked);
  const isAllowed = audio?.state === "running";
  setText(byID("alerts-text"), !isWanted ? "Alerts" : isAllowed ? "Alerts on" : "Press for alerts");
  byID("alerts-summary").classList.toggle("on", isWanted && isAllowed);
}

/**
 * Sounds if one of these is chosen.
 *
 * @param {string[]} troubles
 */
export function sound(troubles) {
  const isWanted = boxes.some(({value, checked}) => checked && troubles.includes(value));
  if (isWanted && audio?.state === "running") beep(audio);
}
