// Chunks of `series` and `track`: taken only when all carry the revision of their summary. No DOM, no clock.

/**
 * @typedef {"series" | "track"} Kind
 * @typedef {{ revision: number, n: number, of: number, columns: Record<string, any[]> }} Chunk
 * @typedef {Record<string, Float64Array>} Columns equally long; `NaN` where a value is unknown
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
    const sorted = (kind) => this.#wanted.has(kind)
      ? [...this.#chunks.get(kind)?.values() ?? []].sort((a, b) => a.n - b.n)
      : [];
    return {series: sorted("series"), track: sorted("track")};
  }
}

/**
 * The columns of all chunks, one behind the other. Columns of lists are left out.
 *
 * @param {Chunk[]} chunks in order @returns {Columns}
 */
export function merge(chunks) {
  const count = chunks.reduce((sum, {columns}) => sum + columns.c.length, 0);
  /** @type {Columns} */
  const merged = {};
  let start = 0;
  for (const {columns} of chunks) {
    for (const [key, values] of Object.entries(columns)) {
      if (values.some(Array.isArray)) continue;
      merged[key] ??= new Float64Array(count).fill(NaN);
      values.forEach((value, index) => merged[key][start + index] = value ?? NaN);
    }
    start += columns.c.length;
  }
  return merged;
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
