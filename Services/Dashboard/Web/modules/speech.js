// Speech: the page reads announcements aloud if the reader wants it.

import {announce, byID, keep, kept, setText, show} from "./dom.js";
import {serverNow, units} from "./page.js";
import {announcementText} from "./notices.js";
import {mayPlay} from "./sound.js";

/** Seconds after which an announcement is too old to be read. */
const ageLimit = 10;
/** The reader's choice, of this page and tab, over a reload. */
const key = `pacebus.speaks.${location.pathname}`;
let choice = kept(key, "sessionStorage");
let isOn = false;

/** @param {boolean} next */
function set(next) {
  isOn = next;
  byID("speak").setAttribute("aria-pressed", String(isOn));
  drawHint();
}

/** Browsers stay silent before the first touch. */
function drawHint() {
  show(byID("speak-hint"), isOn);
  setText(byID("speak-hint"),
    mayPlay() ? "Speech stops when the screen is off."
              : "Touch the page once to allow speech. It stops when the screen is off.");
}
document.addEventListener("click", drawHint);

/** @param {boolean} isWanted whether the page speaks before the reader has chosen */
export const startSpeech = (isWanted) => set((choice ?? String(isWanted)) === "true");

/** @param {string} text */
export function speak(text) {
  if (isOn && "speechSynthesis" in window) speechSynthesis.speak(new SpeechSynthesisUtterance(text));
}

/** @param {any} announcement @param {string} [activity] */
export function read(announcement, activity) {
  const text = announcementText(announcement, {units: units(), activity});
  if (!text || serverNow() - announcement.at > ageLimit) return;
  announce(text);
  speak(text);
}

byID("speak").addEventListener("click", () => {
  set(!isOn);
  choice = String(isOn);
  keep(key, choice, "sessionStorage");
  // The first words must follow a press, or browsers stay silent.
  speak("Announcements are on");
  if (!isOn && "speechSynthesis" in window) speechSynthesis.cancel();
});
