// What Bluetooth sensors say: characteristics of the Bluetooth SIG (GATT Specification Supplement) as values of the bus. No DOM,
// no clock.

/**
 * @typedef {{ revolutions: number, time: number }} Turns `time`: seconds of the sensor's clock, which wraps
 * @typedef {{ values: Record<string, number | number[]>, wheel?: Turns, crank?: Turns }} Measurement
 * @typedef {{ turns: Turns, at: number }} Seen `at`: seconds of the browser
 */

/** Seconds after which a wheel or crank without a further turn stands. */
const standsAfter = 3;
/** Metres of a turn of a wheel of 700 × 25 mm. */
const wheelMetres = 2.105;

/** Reads the little-endian fields of a characteristic one after the other. */
class Fields {
  #at = 0;
  /** @param {DataView} view */
  constructor(view) { this.view = view; }
  get hasMore() { return this.#at + 2 <= this.view.byteLength; }
  u8() { return this.view.getUint8(this.#at++); }
  u16() { return this.view.getUint16((this.#at += 2) - 2, true); }
  i16() { return this.view.getInt16((this.#at += 2) - 2, true); }
  u32() { return this.view.getUint32((this.#at += 4) - 4, true); }
}

/** @param {Fields} fields @param {boolean} isWheel @param {number} ticks of a second @returns {Turns} */
const turns = (fields, isWheel, ticks) =>
  ({revolutions: isWheel ? fields.u32() : fields.u16(), time: fields.u16() / ticks});

/** @param {DataView} view 0x2A37 @returns {Measurement} */
export function heartRate(view) {
  const fields = new Fields(view);
  const flags = fields.u8();
  const h = flags & 1 ? fields.u16() : fields.u8();
  if (flags & 8) fields.u16();
  const rr = [];
  while (flags & 16 && fields.hasMore) rr.push(Math.round(fields.u16() * 1000 / 1024));
  // A strap that knows whether it touches the skin, and does not.
  const isOff = (flags & 6) === 4;
  return {values: {...(h > 0 && !isOff ? {h} : {}), ...(rr.length > 0 && !isOff ? {rr} : {})}};
}

/** @param {DataView} view 0x2A5B @returns {Measurement} */
export function speedAndCadence(view) {
  const fields = new Fields(view);
  const flags = fields.u8();
  const wheel = flags & 1 ? turns(fields, true, 1024) : undefined;
  return {values: {}, wheel, crank: flags & 2 ? turns(fields, false, 1024) : undefined};
}

/** @param {DataView} view 0x2A63 @returns {Measurement} */
export function power(view) {
  const fields = new Fields(view);
  const flags = fields.u16();
  const w = Math.max(0, fields.i16());
  // Half a per cent; without a reference it may be of either leg.
  const share = flags & 1 ? fields.u8() / 2 : undefined;
  if (flags & 4) fields.u16();
  const wheel = flags & 16 ? turns(fields, true, 2048) : undefined;
  const crank = flags & 32 ? turns(fields, false, 1024) : undefined;
  return {values: {w, ...(share !== undefined && flags & 2 ? {bl: share} : {})}, wheel, crank};
}

/** @param {DataView} view 0x2A53 @returns {Measurement} */
export function runningSpeedAndCadence(view) {
  const fields = new Fields(view);
  const flags = fields.u8();
  const [v, cd] = [fields.u16() / 256, fields.u8()];
  return {values: {v: round(v), cd, ...(flags & 1 ? {sl: fields.u16() / 100} : {})}};
}

/** @param {DataView} view 0x2A19 @returns {Measurement} */
export const batteryLevel = (view) => ({values: {b: Math.min(100, view.getUint8(0)) / 100}});

/** Turns a second, from what a sensor said twice: its counters wrap. */
export class Turning {
  #wraps;
  /** @type {Turns | undefined} */
  #last;
  #movedAt = -Infinity;

  /** @param {number} bits of the counter @param {number} ticks of the sensor's clock in a second, which has 16 bits */
  constructor(bits, ticks) { this.#wraps = {revolutions: 2 ** bits, time: 2 ** 16 / ticks}; }

  /** @param {Turns} next @param {number} now seconds @returns {number | undefined} unknown until two turns are seen */
  add(next, now) {
    const last = this.#last;
    if (last && next.time === last.time) return now - this.#movedAt > standsAfter ? 0 : undefined;
    // The clock wraps every 32 or 64 s: after a longer silence its difference means nothing.
    const isNear = now - this.#movedAt < this.#wraps.time;
    [this.#last, this.#movedAt] = [next, now];
    if (!last || !isNear) return undefined;
    return ((next.revolutions - last.revolutions + this.#wraps.revolutions) % this.#wraps.revolutions) /
      ((next.time - last.time + this.#wraps.time) % this.#wraps.time);
  }
}

/** The samples of one sensor's characteristic. */
export class Reader {
  #read;
  #wheel;
  #crank = new Turning(16, 1024);

  /** @param {number} characteristic its assigned number */
  constructor(characteristic) {
    this.#read = readers[characteristic];
    this.#wheel = new Turning(32, characteristic === 0x2A63 ? 2048 : 1024);
  }

  /** @param {DataView} view @param {number} now seconds @returns {Record<string, number | number[]>} values of an item */
  read(view, now) {
    const {values, wheel, crank} = this.#read(view);
    const [speed, cadence] = [wheel && this.#wheel.add(wheel, now), crank && this.#crank.add(crank, now)];
    return {
      ...values,
      ...(speed === undefined ? {} : {v: round(speed * wheelMetres)}),
      ...(cadence === undefined ? {} : {cd: Math.round(cadence * 60)})
    };
  }
}

/** By the assigned number of the characteristic. */
const readers = /** @type {Record<number, (view: DataView) => Measurement>} */ ({
  0x2A37: heartRate,
  0x2A5B: speedAndCadence,
  0x2A63: power,
  0x2A53: runningSpeedAndCadence,
  0x2A19: batteryLevel,
});

/** Services of sensors with their characteristic. */
export const services = /** @type {Record<number, number>} */ ({
  0x180D: 0x2A37,
  0x1818: 0x2A63,
  0x1816: 0x2A5B,
  0x1814: 0x2A53,
});
export const batteryService = 0x180F;

/** @param {number} value */
const round = (value) => Math.round(value * 100) / 100;
