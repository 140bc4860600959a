// This week's totals and the latest workouts of some users. No DOM, no clock.

import {day} from "./format.js";

/** @typedef {{ user: string, session: string, activity: string, name: string, startedAt?: number, endedAt?: number,
 *   timeZone?: string, activeDuration: number, distance?: number }} Workout an overview of the history, with its user */

const latestCount = 5;
/** Of one user: what counts. */
const longestHistory = 100;
/** Seconds: days of one week are closer. Looking up the zones of all takes long. */
const nearby = 8 * 86_400;
/** Requests at one time: all of an account share its limit. */
const requestLimit = 5;
/** Milliseconds: what brings a user's workouts anew comes several times. */
const delay = 500;

/**
 * The start; a workout without any time is the oldest.
 *
 * @param {Workout} workout
 */
const began = ({startedAt, endedAt}) => startedAt ?? endedAt ?? 0;

/**
 * The Monday of a moment's week in a zone, in days since 1970.
 *
 * @param {number} time @param {string} [zone]
 */
export function week(time, zone) {
  const days = Date.parse(day(time, zone).replace(/\b\d\b/g, "0$&")) / 86_400e3;
  // Day 0 was a Thursday.
  return Math.floor((days + 3) / 7);
}

/** @param {Workout[]} workouts of all users, in any order @param {number} now */
export function recent(workouts, now) {
  const ofWeek = workouts.filter((workout) => Math.abs(now - began(workout)) < nearby &&
      week(began(workout), workout.timeZone) === week(now, workout.timeZone));
  const distances = ofWeek.flatMap(({distance}) => distance ?? []);
  return {
    count: ofWeek.length,
    duration: ofWeek.reduce((sum, {activeDuration}) => sum + activeDuration, 0),
    distance: distances.length > 0 ? distances.reduce((sum, distance) => sum + distance, 0) : undefined,
    latest: [...workouts].sort((a, b) => began(b) - began(a) || (a.user < b.user ? 1 : -1)).slice(0, latestCount),
  };
}

/**
 * The workouts of a history that `recent` needs.
 *
 * @param {AsyncIterable<any>} history of a user, the newest first @param {string} user @param {number} now
 */
export async function read(history, user, now) {
  /** @type {Workout[]} */
  const found = [];
  for await (const overview of history) {
    const workout = {...overview, user, session: overview.session.toLowerCase()};
    if (found.length >= latestCount && now - began(workout) > nearby) break;
    found.push(workout);
    if (found.length === longestHistory) break;
  }
  return found;
}

/** The workouts of several users, a few of whom are read at a time. */
export class Histories {
  /** @type {Map<string, Workout[]>} */
  #known = new Map();
  /** @type {Set<string>} */
  #wanted = new Set();
  /** @type {Set<string>} */
  #users = new Set();
  /** @type {Set<string>} */
  #asked = new Set();

  /**
   * @param {(user: string) => Promise<Workout[]>} read @param {(newest: Workout | undefined) => void} onRead
   */
  constructor(read, onRead) {
    this.read = read;
    this.onRead = onRead;
  }

  /** Those of all; nothing as long as one's are missing. */
  get all() { return this.#known.size === this.#users.size ? [...this.#known.values()].flat() : undefined; }

  /** @param {string[]} users whose workouts count from now on */
  see(users) {
    const before = this.#users;
    this.#users = new Set(users);
    for (const each of [this.#known, this.#wanted, this.#asked]) {
      for (const user of each.keys())
        if (!this.#users.has(user)) each.delete(user);
    }
    for (const user of users)
      if (!before.has(user)) this.#wanted.add(user);
    this.#next();
  }

  /** @param {string} user whose workouts have changed */
  readAgain(user) {
    if (!this.#users.has(user)) return;
    this.#wanted.add(user);
    setTimeout(() => this.#next(), delay);
  }

  #next() {
    for (const user of this.#wanted)
      if (this.#asked.size < requestLimit && !this.#asked.has(user)) this.#read(user);
  }

  /** @param {string} user */
  async #read(user) {
    this.#wanted.delete(user);
    this.#asked.add(user);
    // One that is refused has none.
    const workouts = await this.read(user).catch(() => this.#known.get(user) ?? []);
    // Nobody answers for a user who may no longer be viewed, or much later.
    if (!this.#asked.delete(user)) return;
    this.#known.set(user, workouts);
    this.onRead(workouts[0]);
    this.#next();
  }
}

/**
 * `This week`, and for others whose it is.
 *
 * @param {string} login @param {string[]} people
 */
export function weekTitle(login, people) {
  const others = people.filter((user) => user !== login).sort();
  if (others.length === 0) return "This week";
  return `This week of ${others.length > 3 ? `${others.length} people` : others.join(", ")}`;
}

/**
 * The state of a workout that only the history has.
 *
 * @param {Workout} workout
 */
export function stateOf({startedAt, endedAt, ...workout}) {
  const end = endedAt ?? startedAt ?? 0;
  return {
    ...workout,
    status: "completed",
    revision: Math.round(end * 1000),
    endedAt: end,
    startedAt,
    segments: startedAt === undefined ? [] : [[startedAt, end]],
    laps: []
  };
}
