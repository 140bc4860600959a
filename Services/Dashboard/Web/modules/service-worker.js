// Shows pages without a connection. A page comes from the network, else from the copy of this release; assets, whose addresses name
// their release, come from the copy first. Pages hold no data, and nothing else is kept. The build writes the address of the assets.

const assets = "{{assets}}";
const cacheName = `pacebus ${assets}`;
/** Milliseconds after which a page comes from its copy. */
const patience = 3000;
/** A workout begins without a connection, also if this page was never visited. */
const recorder = "/record";
const worker = /** @type {any} */ (globalThis);

/**
 * Where a page is kept: the pages of all workouts are one file.
 *
 * @param {string} path
 */
const keyOf = (path) => path.split("/").map((level, index) => (index < 2 ? level : "*")).join("/");

const openCopy = () => caches.open(cacheName);

/**
 * Keeps a page and what it loads, unless it is of another release. The login is of no use without a connection.
 *
 * @param {string} path @param {Response} response
 */
async function keep(path, response) {
  if (!response.ok || response.redirected || path === "/login") return;
  const text = await response.clone().text();
  const files = [...new Set(text.match(new RegExp(`${assets}/[^"'#?\\s<>)]+`, "g")))];
  if (files.length === 0) return;
  const cache = await openCopy();
  const kept = await Promise.all(files.map((file) => cache.match(file, {ignoreVary: true})));
  await cache.addAll(files.filter((_, index) => !kept[index]));
  // Last: a page without its files shows nothing.
  await cache.put(keyOf(path), response);
  if (!await cache.match(recorder, {ignoreVary: true})) await keep(recorder, await fetch(recorder));
}

/** The pages that are open were loaded before the worker came. */
async function keepOpenPages() {
  const pages = await worker.clients.matchAll({type: "window", includeUncontrolled: true});
  for (const {url} of pages) {
    const response = await fetch(url).catch(() => undefined);
    if (response) await keep(new URL(url).pathname, response).catch(() => {});
  }
}

/** @param {any} event a navigation */
async function page(event) {
  const {pathname} = new URL(event.request.url);
  const fresh = fetch(event.request);
  event.waitUntil(fresh.then((response) => keep(pathname, response.clone())).catch(() => {}));
  const kept = await (await openCopy()).match(keyOf(pathname), {ignoreVary: true});
  if (!kept) return fresh;
  const late = new Promise((resume) => setTimeout(() => resume(undefined), patience));
  const response = await Promise.race([fresh, late]).catch(() => undefined);
  // A proxy answers for a server that is away.
  return response && response.status < 500 ? response : kept;
}

/** @param {Request} request of an asset of this release */
async function asset(request) {
  const cache = await openCopy();
  const kept = await cache.match(request, {ignoreVary: true});
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) await cache.put(request, response.clone());
  return response;
}

addEventListener("install", (/** @type {any} */ event) => {
  worker.skipWaiting();
  event.waitUntil(keepOpenPages());
});

addEventListener("activate", (/** @type {any} */ event) => {
  const clean = async () => {
    for (const name of await caches.keys())
      if (name.startsWith("pacebus ") && name !== cacheName) await caches.delete(name);
    await worker.clients.claim();
  };
  event.waitUntil(clean());
});

addEventListener("fetch", (/** @type {any} */ event) => {
  const {request} = event;
  const {origin, pathname} = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate") event.respondWith(page(event));
  else if (pathname.startsWith(`${assets}/`)) event.respondWith(asset(request));
});
