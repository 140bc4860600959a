// When the page of a session draws. No DOM, no clock.

/** Milliseconds: what comes so shortly before a tick waits for it. */
const longestWait = 200;
/** Milliseconds: a tick waits so long for metrics, which may be so late. */
const [longestDelay, lateness] = [950, 150];

/**
 * When a page draws, in milliseconds: at `at`, once for all that came. A frame costs more than all else, so one a second shows
 * the clock, the metrics and the position.
 */
export const noDrawing = {
  at: Infinity,
  tickAt: Infinity,
  metricsAt: -Infinity,
  interval: Infinity
};

/**
 * An event came.
 *
 * @param {typeof noDrawing} drawing @param {string} name @param {number} now @returns {typeof noDrawing}
 */
export function drawingAfter(drawing, name, now) {
  // A position goes with the next drawing, if there is one.
  if (name === "route" && drawing.at < Infinity) return drawing;
  const wait = drawing.tickAt - now;
  const next = {...drawing, at: wait > 0 && wait <= longestWait ? drawing.tickAt : now};
  return name === "metrics" ? {...next, metricsAt: now, interval: now - drawing.metricsAt} : next;
}

/**
 * The page has drawn, and its clock shows the next second at `tickAt`.
 *
 * @param {typeof noDrawing} drawing @param {number} tickAt @param {boolean} mayDelay whether the clock may be late
 * @returns {typeof noDrawing}
 */
export function drawingAt(drawing, tickAt, mayDelay) {
  const delay = drawing.metricsAt + drawing.interval + lateness - tickAt;
  return {...drawing, tickAt, at: mayDelay && delay > 0 && delay <= longestDelay ? tickAt + delay : tickAt};
}
