// Where the names of people stand on a map. No DOM.

/**
 * @typedef {{ user: string, x: number, y: number }} Point pixels
 * @typedef {{ x: number, y: number, users: string[], label?: { x: number, y: number, width: number } }} Mark
 *   people at one place; the label's left edge and middle
 */

/** Marks nearer than this share one, in pixels. */
const near = 26;
export const labelHeight = 44;
/** From the middle of a mark to its label. */
const gap = 13;
const radius = 11;
/** A name's own height, half of it, and a mark's radius: nearer it would cover the mark. */
const covered = 14 + radius;

/** @param {string[]} users */
export const labelText = (users) => users[0] + (users.length > 1 ? ` +${users.length - 1}` : "");

/**
 * All names of a mark, the silent ones first: `ben (no signal), anna`.
 *
 * @param {{ user: string, isSilent: boolean }[]} people
 */
export const groupText = (people) => [...people]
                                       .sort((a, b) => Number(b.isSilent) - Number(a.isSilent))
                                       .map(({user, isSilent}) => user + (isSilent ? " (no signal)" : ""))
                                       .join(", ");

/**
 * Groups people who are close together, and places the names so that none covers another; a name without room is left out.
 *
 * @param {Point[]} points those with precedence first @param {(text: string) => number} width of a label
 * @param {{ x: number, y: number }} size of the map
 * @returns {Mark[]}
 */
export function layout(points, width, size) {
  /** @type {Mark[]} */
  const marks = [];
  for (const {user, x, y} of points) {
    const mark = marks.find((m) => Math.hypot(m.x - x, m.y - y) < near);
    if (mark) mark.users.push(user);
    else marks.push({x, y, users: [user]});
  }
  /** @type {{ x: number, y: number, width: number }[]} */
  const taken = [];
  for (const mark of marks) {
    const w = width(labelText(mark.users));
    const [right, left, middle] = [mark.x + gap, mark.x - gap - w, mark.x - w / 2];
    const places =
      [[right, 0], [left, 0], [middle, -30], [middle, 30], [right, -24], [right, 24], [left, -24], [left, 24]];
    mark.label = places.map(([x, down]) => ({x, y: mark.y + down, width: w}))
                   .find((label) => label.x >= 0 && label.x + w <= size.x && label.y >= labelHeight / 2 &&
                       label.y <= size.y - labelHeight / 2 &&
                       taken.every((other) => label.x >= other.x + other.width || label.x + w <= other.x ||
                           Math.abs(other.y - label.y) >= labelHeight) &&
                       marks.every((other) => other === mark || Math.abs(other.y - label.y) >= covered ||
                           other.x < label.x - radius || other.x > label.x + w + radius));
    if (mark.label) taken.push(mark.label);
  }
  return marks;
}
