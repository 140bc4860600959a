// Sounds, which browsers allow after a first touch of the page.

/** Whether the page was touched; not in TypeScript 4.8's list. */
export const mayPlay = () => /** @type {any} */ (navigator).userActivation?.hasBeenActive ?? true;

/**
 * Two short beeps.
 *
 * @param {AudioContext} audio
 */
export function beep(audio) {
  for (const start of [0, 0.35]) {
    const [oscillator, gain] = [audio.createOscillator(), audio.createGain()];
    const at = audio.currentTime + start;
    oscillator.frequency.value = 880;
    gain.gain.setValueAtTime(0.4, at);
    gain.gain.exponentialRampToValueAtTime(0.001, at + 0.25);
    oscillator.connect(gain).connect(audio.destination);
    oscillator.start(at);
    oscillator.stop(at + 0.25);
  }
}
