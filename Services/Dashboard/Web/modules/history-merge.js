// The copy of a user's history, and what replies to `workouts` with `changedAfter` make of it. No DOM, no clock, no database.

/**
 * @typedef {{ session: string, name: string, activity: string, environment?: string, startedAt?: number, endedAt?: number,
 *   timeZone?: string, activeDuration: number, distance?: number, ascent?: number, averageHeartRate?: number, averageSpeed?: number,
 *   averagePower?: number, bests?: any, load?: any, sketch?: string, note?: string, changed?: number }} Workout an overview
 * @typedef {{ cursor: any, at: number, workouts: Map<string, Workout> }} Copy `cursor`: the next `changedAfter`; `at`: when it was up
 *   to date, in Unix seconds; `workouts` by session in lower case
 * @typedef {{ isReset: boolean, put: Workout[], removed: string[], cursor: any, more: boolean }} Change
 */

/** @returns {Copy} */
export const emptyCopy = () => ({cursor: 0, at: 0, workouts: new Map()});

/**
 * What a reply changes.
 *
 * @param {any} reply @returns {Change}
 */
export function changeOf(reply) {
  /** @type {Map<string, Workout | undefined>} */
  const last = new Map();
  for (const entry of reply.changes) {
    const session = entry.session.toLowerCase();
    last.set(session, entry.deleted ? undefined : {...entry, session});
  }
  return {
    isReset: reply.reset === true,
    put: [...last.values()].flatMap((workout) => workout ?? []),
    removed: [...last].filter(([, workout]) => !workout).map(([session]) => session),
    cursor: reply.next ?? 0,
    more: reply.more === true,
  };
}

/**
 * @param {Copy} copy @param {Change} change @param {number} now Unix seconds @returns {Copy}
 */
export function merge(copy, change, now) {
  const workouts = new Map(change.isReset ? [] : copy.workouts);
  for (const session of change.removed) workouts.delete(session);
  for (const workout of change.put) workouts.set(workout.session, workout);
  return {cursor: change.cursor, at: change.more ? copy.at : now, workouts};
}

/**
 * Whether two cursors, numbers or objects, are the same.
 *
 * @param {any} a @param {any} b
 */
export const isSameCursor = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/**
 * The start; a workout that never became active has its end.
 *
 * @param {Workout} workout
 */
export const began = ({startedAt, endedAt}) => startedAt ?? endedAt ?? 0;

/**
 * The newest first.
 *
 * @param {Iterable<Workout>} workouts
 */
export const sorted =
  (workouts) => [...workouts].sort((a, b) => began(b) - began(a) || (a.session < b.session ? 1 : -1));
