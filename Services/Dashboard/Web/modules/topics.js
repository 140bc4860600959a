// The topics of the bus that pages use.

const root = "pacebus/v1";

/** @param {string} user @param {string} session in any case @param {string} name `state` */
export function sessionTopic(user, session, name) {
  const id = session.toLowerCase();
  return `${root}/${id.slice(-2)}/${user}/${id}/${name}`;
}

/** @param {string} user @param {string} name `current` */
export const userTopic = (user, name) => `${root}/u/${user}/${name}`;

/** @param {string} topic of an account or its session */
export const accountOf = (topic) => topic.split("/")[3];

/** The presence of all processes. */
export const presences = `${root}/services/+/+`;

/**
 * Whether a payload is older than the one shown.
 *
 * @param {any} shown @param {any} next
 */
export function isOlder(shown, next) {
  /** @param {any} payload */
  const revision = (payload) => payload?.revision ?? payload?.s ?? 0;
  return shown !== undefined && revision(next) < revision(shown);
}
