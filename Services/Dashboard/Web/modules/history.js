// The history of the reader and of those whom the account may view, by requests.

import {bus, login} from "./page.js";
import {userTopic} from "./topics.js";

/** The most of one request, and of a search. */
const [pageSize, searchLimit] = [100, 1000];

/**
 * Finished workouts, the newest first, with `next` if there are more; or with `changedAfter` what has changed since.
 *
 * @param {string} user @param {{ limit?: number, from?: number, before?: any, changedAfter?: any }} [fields]
 * @returns {Promise<{ workouts: any[], next?: any, changes?: any[], more?: true, reset?: true }>} rejected if it is refused
 */
export const askHistory = (user, fields = {}) =>
  bus.ask(userTopic(user, user === login ? "request" : `viewers/${login}/request`), {type: "workouts", ...fields});

/**
 * Finished workouts, the newest first, by as many requests as are wanted.
 *
 * @param {string} user @param {number} limit of one request
 */
export async function* history(user, limit) {
  /** @type {Awaited<ReturnType<typeof askHistory>>} */
  let page = {workouts: [], next: undefined};
  do {
    page = await askHistory(user, {limit, ...(page.next && {before: page.next})});
    yield* page.workouts;
  } while (page.next);
}

/**
 * A finished workout, if it is among the last thousand.
 *
 * @param {string} user @param {string} session in lower case
 */
export async function findWorkout(user, session) {
  let count = 0;
  for await (const workout of history(user, pageSize)) {
    if (workout.session.toLowerCase() === session) return workout;
    count += 1;
    if (count === searchLimit) break;
  }
  return undefined;
}
