// Chunks of `series` and `track`: taken only when all carry the revision of their summary. What was decoded is kept in this browser,
// at most 200 MB, the oldest out; without a database, the page asks the bus each time. No DOM, no clock.

/**
 * @typedef {"series" | "track"} Kind
 * @typedef {{ revision: number, n: number, of: number, columns: Record<string, any[]> }} Chunk
 */

/** @type {Kind[]} */
export const kinds = ["series", "track"];

/** The summary of each kind. */
export const summaryOf = {
  series: "metrics",
  track: "route"
};

/** Takes the chunks of one workout in any order, until they are complete. */
export class ChunkCollector {
  /** @type {Map<Kind, number>} the revision of each summary that the workout has */
  #wanted = new Map();
  /** @type {Map<Kind, Map<number, Chunk>>} of the wanted revision */
  #chunks = new Map();

  /** @param {Record<string, number> | undefined} summaries of the record: revisions by `metrics` and `route` */
  constructor(summaries) {
    for (const kind of kinds) {
      const revision = summaries?.[summaryOf[kind]];
      if (revision !== undefined) this.#want(kind, revision);
    }
  }

  /** @param {Kind} kind @param {number} revision */
  #want(kind, revision) {
    this.#wanted.set(kind, revision);
    this.#chunks.set(kind, new Map());
  }

  /** The revisions that it waits for or has. */
  get revision() { return kinds.map((kind) => this.#wanted.get(kind) ?? 0).join(":"); }

  /**
   * A summary names the revision and the number of its chunks. One that is newer than the record wins.
   *
   * @param {Kind} kind @param {{ revision: number, chunks: number }} summary
   */
  expect(kind, {revision, chunks}) {
    const wanted = this.#wanted.get(kind);
    if (wanted !== undefined && revision < wanted) return;
    if (revision !== wanted) this.#want(kind, revision);
    if (chunks === 0) this.#wanted.delete(kind);
  }

  /** @param {Kind} kind @param {Chunk} chunk */
  take(kind, chunk) {
    if (chunk?.revision === this.#wanted.get(kind)) this.#chunks.get(kind)?.set(chunk.n, chunk);
  }

  get isComplete() {
    return [...this.#wanted.keys()].every((kind) => {
      const chunks = [...this.#chunks.get(kind)?.values() ?? []];
      return chunks.length > 0 && chunks.length === chunks[0].of;
    });
  }

  /** @returns {Record<Kind, Chunk[]>} in order */
  get parts() {
    /** @param {Kind} kind */
    const sorted = (kind) =>
      this.#wanted.has(kind) ? [...this.#chunks.get(kind)?.values() ?? []].sort((a, b) => a.n - b.n) : [];
    return {series: sorted("series"), track: sorted("track")};
  }
}

/**
 * The entries that have to go so that the others fit, the oldest first.
 *
 * @param {{ key: string, bytes: number, at: number }[]} entries @param {number} limit bytes of all
 */
export function surplus(entries, limit) {
  let sum = entries.reduce((all, {bytes}) => all + bytes, 0);
  /** @type {string[]} */
  const keys = [];
  for (const {key, bytes} of [...entries].sort((a, b) => a.at - b.at)) {
    if (sum <= limit) break;
    keys.push(key);
    sum -= bytes;
  }
  return keys;
}

// MARK: What this browser keeps

const limit = 200e6;
/** @param {string} login */
const nameOf = (login) => `pacebus.chunks.${login}`;

/**
 * @template Value
 * @param {IDBRequest<Value>} request @returns {Promise<Value>}
 */
const result = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @param {string} login @returns {Promise<IDBDatabase>} */
function open(login) {
  const request = indexedDB.open(nameOf(login), 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("details");
    request.result.createObjectStore("entries", {keyPath: "key"});
  };
  return result(request).then((database) => {
    // Logging out in another tab deletes it.
    database.onversionchange = () => database.close();
    return database;
  });
}

/** @param {string} user @param {string} session @param {string} revision */
const keyOf = (user, session, revision) => `${user} ${session} ${revision}`;

/**
 * @param {string} login @param {string} user @param {string} session @param {string} revision of the summaries
 * @returns {Promise<any>} `undefined` if they are not kept
 */
export async function load(login, user, session, revision) {
  const database = await open(login);
  try {
    return await result(database.transaction("details").objectStore("details").get(keyOf(user, session, revision)));
  } finally {
    database.close();
  }
}

/** @param {any} value @returns {number} bytes */
function sizeOf(value) {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return value && typeof value === "object" ? Object.values(value).reduce((sum, part) => sum + sizeOf(part), 64) : 8;
}

/**
 * @param {string} login @param {string} user @param {string} session @param {string} revision @param {any} details
 * @param {number} at Unix seconds
 */
export async function save(login, user, session, revision, details, at) {
  const database = await open(login);
  try {
    const transaction = database.transaction(["details", "entries"], "readwrite");
    const [all, entries] = ["details", "entries"].map((name) => transaction.objectStore(name));
    const key = keyOf(user, session, revision);
    /** @type {{ key: string, bytes: number, at: number }[]} */
    const kept = (await result(entries.getAll())).filter((entry) => entry.key !== key);
    // Of a workout the newest revision stays.
    const former = kept.filter((entry) => entry.key.startsWith(keyOf(user, session, ""))).map((entry) => entry.key);
    const entry = {key, bytes: sizeOf(details), at};
    const others = kept.filter((each) => !former.includes(each.key));
    for (const gone of [...former, ...surplus([...others, entry], limit)]) {
      all.delete(gone);
      entries.delete(gone);
    }
    if (entry.bytes > limit) return;
    all.put(details, key);
    entries.put(entry);
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

/**
 * Forgets what an account has read on this browser.
 *
 * @param {string} login
 */
export const forget = (login) => void indexedDB.deleteDatabase(nameOf(login));
