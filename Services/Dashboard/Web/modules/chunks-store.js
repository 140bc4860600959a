// Decoded chunks that this browser keeps, at most 200 MB, the oldest out. Without a database, the page asks the bus each time.

import {surplus} from "./chunks.js";

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
    return await result(
      database.transaction("details").objectStore("details").get(keyOf(user, session, revision)));
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
