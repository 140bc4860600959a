// The end of a rest: a tone and vibration for the athlete, only while the screen is on.

import {announce, byID, setText, show} from "./dom.js";
import {beep, mayPlay} from "./sound.js";

/** The end of the rest that is counted down, until it has been announced; Unix seconds. */
let restEnd = 0;
let lastRestEnd = 0;

/** @param {any} state @param {number} now @param {import("./live-plan.js").Page} page */
export function drawRest({status, timer: {phase, endsAt}}, now, page) {
  const isRest = status === "active" && phase === "rest" && endsAt !== undefined;
  if (isRest && endsAt !== restEnd && endsAt !== lastRestEnd && now < endsAt) {
    restEnd = endsAt;
    setTimeout(page.redraw, (endsAt - now) * 1000 + 5);
  }
  // The engine may be a little ahead of this clock.
  if (restEnd && now >= restEnd - (isRest ? 0 : 1)) {
    // Late, as after a page was hidden, it would only startle.
    if (now < restEnd + 2) restIsOver(page);
    lastRestEnd = restEnd;
    restEnd = 0;
  } else if (!isRest) restEnd = 0;
  const hint = byID("rest-hint");
  show(hint, page.isOwner && isRest && now < endsAt);
  const signals = "vibrate" in navigator ? "tone and vibration" : "the tone";
  setText(hint,
    mayPlay() ? `At the end: ${signals}, while the screen is on.`
              : `Touch the page once to allow ${signals} at the end.`);
}

/** @param {import("./live-plan.js").Page} page */
function restIsOver({isOwner, say}) {
  announce("The rest is over");
  if (document.hidden || !isOwner) return;
  if (mayPlay()) playTone();
  navigator.vibrate?.([300, 100, 300]);
  say("The rest is over");
}

/** @type {AudioContext | undefined} */
let audio;

function playTone() {
  audio ??= new AudioContext();
  audio.resume();
  beep(audio);
}
