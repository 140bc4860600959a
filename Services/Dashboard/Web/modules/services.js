// Which services are online, by the presence of their processes. No DOM, no clock.

/** Seconds after which a process that does not renew its presence counts as offline. */
const lifetime = 60;

/**
 * @typedef {{ status: string, at?: number, version?: string, shards?: string, heardAt: number, since?: number }} Process
 *   `heardAt`: when its newest presence came, in Unix seconds of the server; `since`: when its status changed, if that was seen
 * @typedef {Record<string, Record<string, Process>>} Services processes by service and instance
 */

/** @param {Services} services @param {string} topic @param {any} presence @param {number} now @returns {Services} */
export function receivePresence(services, topic, presence, now) {
  const [service, instance] = topic.split("/").slice(-2);
  const name = service.replace(/^_/, "");
  const {[instance]: known, ...others} = services[name] ?? {};
  // The service stays known.
  if (!presence) return {...services, [name]: others};
  // Delivered again, it renews nothing; a retained one may be old.
  const heardAt =
    known?.at === presence.at ? known?.heardAt ?? now : Math.min(now, Math.max(presence.at ?? now, now - lifetime));
  const since = known && known.status !== presence.status ? now : known?.since;
  return {...services, [name]: {...others, [instance]: {...presence, heardAt, since}}};
}

/** @param {Process} process @param {number} now */
export const isOnline = ({status, heardAt}, now) => status === "online" && now - heardAt < lifetime;

/** @param {Services} services @param {number} now @returns {Record<string, boolean>} by service */
export const onlineServices = (services, now) => Object.fromEntries(
  Object.entries(services).map(([name, all]) => [name, Object.values(all).some((process) => isOnline(process, now))]));
