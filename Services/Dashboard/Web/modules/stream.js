// The connection to the server: a state machine (`step`) and the EventSource that it drives (`follow`).

/**
 * @typedef {"idle" | "connecting" | "open" | "waiting" | "hidden" | "over"} Phase
 * @typedef {object} Link
 * @property {Phase} phase
 * @property {number} since when the phase began, or in `open` the time of the newest event; seconds
 * @property {number} attempt failed attempts in a row
 * @property {number} until the end of `waiting`
 * @property {number | undefined} hiddenSince
 * @property {"login" | "gone" | undefined} end why no further attempt follows
 * @property {string | undefined} reason why the server refused the last attempt, in its words
 *
 * @typedef {{ type: "start" | "opened" | "event" | "failed" | "tick" | "hidden" | "visible" | "left" | "returned" }
 *   | { type: "status", status: number, retryAfter?: number, reason?: string }} LinkEvent
 * @typedef {"open" | "close" | "check"} Action `check` reads the status that EventSource does not show
 */

const silenceLimit = 20;
const openLimit = 10;
const hiddenLimit = 60;
const delays = [1, 2, 5, 10, 20];

/** @returns {Link} */
export const idle = () =>
  ({phase: "idle", since: 0, attempt: 0, until: 0, hiddenSince: undefined, end: undefined, reason: undefined});

/**
 * @param {Link} link @param {LinkEvent} event @param {number} now seconds of any clock that does not step
 * @param {number} jitter 0…1
 * @returns {{ link: Link, actions: Action[] }}
 */
export function step(link, event, now, jitter = 0) {
  /** @param {Partial<Link>} change @param {Action[]} actions */
  const next = (change, ...actions) => ({link: {...link, ...change}, actions});
  const connect = () => next({phase: "connecting", since: now, hiddenSince: undefined}, "close", "open");
  /** @param {number} [least] @param {Action[]} first */
  const wait = (least = 0, ...first) => {
    const delay = delays[Math.min(link.attempt, delays.length - 1)] * (0.75 + jitter / 2);
    const until = now + Math.max(least, delay);
    return next({phase: "waiting", since: now, until, attempt: link.attempt + 1}, ...first);
  };

  if (link.phase === "over") return next({});
  switch (event.type) {
    case "start":
      return link.phase === "idle" ? connect() : next({});
    case "returned":
      return {link: connect().link, actions: ["close", "check", "open"]};
    case "left":
      return next({phase: "hidden"}, "close");
    case "opened":
      return link.phase === "connecting" ? next({phase: "open", since: now, reason: undefined}) : next({});
    case "event":
      return link.phase === "open" ? next({since: now, attempt: 0}) : next({});
    case "failed":
      if (link.phase === "open") return wait(0, "close");
      return link.phase === "connecting" ? wait(0, "close", "check") : next({});
    case "status":
      if (event.status === 401) return next({phase: "over", end: "login"}, "close");
      if (event.status === 404 || event.status === 410) return next({phase: "over", end: "gone"}, "close");
      if (link.phase !== "waiting") return next({});
      return next({until: Math.max(link.until, link.since + (event.retryAfter || 0)), reason: event.reason});
    case "hidden":
      return next({hiddenSince: link.hiddenSince ?? now});
    case "visible":
      if (link.phase === "hidden" || link.phase === "waiting") return connect();
      return next({hiddenSince: undefined});
    case "tick":
      if (link.hiddenSince !== undefined && now - link.hiddenSince >= hiddenLimit && link.phase !== "hidden") {
        return next({phase: "hidden"}, "close");
      }
      if (link.phase === "open" && now - link.since > silenceLimit) return wait(0, "close");
      if (link.phase === "connecting" && now - link.since > openLimit) return wait(0, "close", "check");
      return link.phase === "waiting" && now >= link.until ? connect() : next({});
  }
}

/**
 * @typedef {object} Listener
 * @property {(name: string, data: any, text: string) => void} receive an event of the server
 * @property {(link: Link) => void} changed the phase of the link
 */

/**
 * Follows a stream of the server until the page ends. Returns what moves on to another stream.
 *
 * @param {string} url @param {string[]} names @param {Listener} to
 */
export function follow(url, names, to) {
  let link = idle();
  /** @type {EventSource | undefined} */
  let source;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const now = () => performance.now() / 1000;
  // The server ends what this page opened before, even if the network tells it nothing.
  const page = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const address = () => `${url}${url.includes("?") ? "&" : "?"}page=${page}`;

  /** @param {LinkEvent} event */
  const handle = (event) => {
    const before = link;
    const {link: after, actions} = step(link, event, now(), Math.random());
    link = after;
    for (const action of actions) perform[action]();
    if (before.phase !== after.phase || before.end !== after.end || before.reason !== after.reason) to.changed(link);
    if (link.phase !== "hidden" && link.phase !== "over")
      return void (timer ??= setInterval(() => handle({type: "tick"}), 1000));
    clearInterval(timer);
    timer = undefined;
  };

  const perform = {
    close() {
      source?.close();
      source = undefined;
    },
    open() {
      const opened = new EventSource(address());
      source = opened;
      opened.onopen = () => source === opened && handle({type: "opened"});
      opened.onerror = () => source === opened && handle({type: "failed"});
      for (const name of names) {
        opened.addEventListener(name, (event) => {
          if (source !== opened) return;
          handle({type: "event"});
          const text = /** @type {MessageEvent<string>} */ (event).data;
          to.receive(name, text === "" ? undefined : JSON.parse(text), text);
        });
      }
    },
    async check() {
      const request = new AbortController();
      // A browser has six connections to a server: a silent one must not stay.
      const timer = setTimeout(() => request.abort(), openLimit * 1000);
      try {
        const answer =
          await fetch(`${address()}-check`, {signal: request.signal, cache: "no-store", redirect: "manual"});
        // A proxy answers with a page.
        const isPlain = answer.status === 503 && answer.headers.get("Content-Type")?.startsWith("text/plain");
        const reason = isPlain ? await answer.text() : undefined;
        handle({type: "status", status: answer.status, retryAfter: Number(answer.headers.get("Retry-After")), reason});
      } catch {
        // Without an answer the next attempt follows anyway.
      }
      clearTimeout(timer);
      request.abort();
    },
  };

  document.addEventListener("visibilitychange", () => handle({type: document.hidden ? "hidden" : "visible"}));
  addEventListener("pagehide", () => handle({type: "left"}));
  addEventListener("pageshow", (event) => event.persisted && handle({type: "returned"}));
  addEventListener("online", () => handle({type: "visible"}));
  handle({type: "start"});

  /** @param {string} next */
  return (next) => {
    url = next;
    handle({type: "left"});
    if (!document.hidden) handle({type: "visible"});
  };
}

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

/** The server's clock, by the beats of the stream: this browser's may be wrong, and step. */
export class ServerClock {
  /** @type {{ server: number, wall: number, uptime: number } | undefined} the beat that counts, in seconds */
  #beat;

  /** @param {number} server the time in a beat */
  receive(server) {
    const uptime = performance.now() / 1000;
    // The beat that was on its way for the shortest time counts, for a minute.
    if (this.#beat && uptime - this.#beat.uptime < 60 && (this.exact ?? 0) > server) return;
    this.#beat = {server, wall: Date.now() / 1000, uptime};
  }

  /** Unix seconds. */
  get now() { return this.exact ?? Date.now() / 1000 + (this.#beat ? this.#beat.server - this.#beat.wall : 0); }

  /** Unix seconds; undefined before a beat, and if this browser's clock stepped or its device slept since. */
  get exact() {
    if (!this.#beat) return undefined;
    const uptime = performance.now() / 1000 - this.#beat.uptime;
    const isSteady = Math.abs(Date.now() / 1000 - this.#beat.wall - uptime) < 2;
    return isSteady ? this.#beat.server + uptime : undefined;
  }
}

export const serverClock = new ServerClock();
