// The files that people gave the page *Import*, in this browser until they are workouts or were refused, so that it continues
// after a reload and after the browser has ended.

/**
 * @typedef {"queued" | "receiving" | "reading" | "asking" | "waiting" | "logging" | "done" | "refused"} Status `queued`: not
 *   all of it is at the importer; the others are the importer's
 * @typedef {{ id: string, order: number, name: string, title?: string, activity?: string, at?: number, source: string,
 *   bytes: number, hash: string, status: Status, progress?: number, sessions?: string[], reason?: string,
 *   remarks?: string[], match?: string }} Item `id`: of the import; `source`: the archive's name, or nothing; `at`: when
 *   the workout began
 */

/** @param {string} login */
export const nameOf = (login) => `pacebus.imports.${login}`;

/**
 * @template Value
 * @param {IDBRequest<Value>} request @returns {Promise<Value>}
 */
const result = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @param {IDBTransaction} transaction @returns {Promise<void>} */
const finished = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve();
  transaction.onabort = () => reject(transaction.error);
});

export class ImportStore {
  /** @param {IDBDatabase} database */
  constructor(database) { this.database = database; }

  /** @param {string} login @returns {Promise<ImportStore>} rejected if this browser keeps nothing */
  static async open(login) {
    const request = indexedDB.open(nameOf(login), 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("items", {keyPath: "id"});
      request.result.createObjectStore("contents");
    };
    const database = await result(request);
    // Logging out deletes it.
    database.onversionchange = () => database.close();
    return new ImportStore(database);
  }

  /** @returns {Promise<Item[]>} in their order */
  async items() {
    const items = await result(this.database.transaction("items").objectStore("items").getAll());
    return items.sort((one, other) => one.order - other.order);
  }

  /** @param {Item} item @param {ArrayBuffer} content */
  async add(item, content) {
    const transaction = this.database.transaction(["items", "contents"], "readwrite", {durability: "strict"});
    transaction.objectStore("items").add(item);
    transaction.objectStore("contents").add(content, item.id);
    await finished(transaction);
  }

  /** @param {string} id @returns {Promise<ArrayBuffer | undefined>} */
  content(id) { return result(this.database.transaction("contents").objectStore("contents").get(id)); }

  /** @param {Item[]} items what is done or refused needs its content no more */
  async save(items) {
    const transaction = this.database.transaction(["items", "contents"], "readwrite");
    for (const item of items) {
      transaction.objectStore("items").put(item);
      if (isOver(item)) transaction.objectStore("contents").delete(item.id);
    }
    await finished(transaction);
  }

  /** @param {Item[]} items */
  async remove(items) {
    const transaction = this.database.transaction(["items", "contents"], "readwrite");
    for (const {id} of items)
      for (const name of ["items", "contents"]) transaction.objectStore(name).delete(id);
    await finished(transaction);
  }
}

/** @param {Item} item */
export const isOver = ({status}) => status === "done" || status === "refused";
