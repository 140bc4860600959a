// Bluetooth sensors of this browser: chosen by a person, connected again whenever they come back.

import {Reader, batteryService, services} from "./bluetooth.js";
import {byID, make, setList, setText, show} from "./dom.js";
import {format, joined} from "./format.js";

/**
 * @typedef {{ id: string, name: string, isStrap: boolean, state: "connecting" | "connected" | "lost" | "unknown",
 *   values: Record<string, any>, gatt?: any, tries: number }} Sensor `unknown`: only a press connects it
 */

/** Seconds until the next attempt to connect. */
const delays = [1, 2, 5, 10, 20];
/** TypeScript 4.8 has no types of Bluetooth. */
const bluetooth = /** @type {any} */ (navigator).bluetooth;
const optionalServices = [...Object.keys(services).map(Number), batteryService];

export class Sensors {
  /** @type {Sensor[]} */
  all = [];

  /** @param {(sensor: Sensor, values: Record<string, any>) => void} onValues */
  constructor(onValues) {
    this.onValues = onValues;
    show(byID("connect-sensor"), bluetooth !== undefined);
    show(byID("no-bluetooth"), bluetooth === undefined);
    byID("connect-sensor").addEventListener("click", () => this.#choose());
    this.#draw();
  }

  /**
   * Connects the sensors of an earlier page, if the browser lets a page do so without a press.
   *
   * @param {{ id: string, name: string, device: string }[]} known
   */
  async restore(known) {
    for (const {id, name, device} of known)
      this.all.push({id, name, isStrap: device.startsWith("strap"), state: "unknown", values: {}, tries: 0});
    this.#draw();
    const devices = await bluetooth?.getDevices?.().catch(() => []) ?? [];
    for (const device of devices)
      if (known.some(({id}) => id === device.id)) this.#connect(device);
  }

  /** Disconnects all. */
  stop() {
    for (const sensor of this.all) {
      sensor.tries = Infinity;
      sensor.gatt?.disconnect();
    }
  }

  async #choose() {
    const filters = Object.keys(services).map((service) => ({services: [Number(service)]}));
    // Without a choice, nothing changes.
    const device = await bluetooth.requestDevice({filters, optionalServices}).catch(() => undefined);
    if (device) this.#connect(device);
  }

  /** @param {any} device of the browser */
  #connect(device) {
    let sensor = this.all.find(({id}) => id === device.id);
    if (sensor?.gatt) return;
    if (!sensor) {
      sensor = {id: device.id, name: device.name ?? "Sensor", isStrap: false, state: "unknown", values: {}, tries: 0};
      this.all.push(sensor);
    }
    const found = sensor;
    found.gatt = device.gatt;
    device.addEventListener("gattserverdisconnected", () => this.#lose(found));
    this.#open(found);
  }

  /** @param {Sensor} sensor */
  async #open(sensor) {
    sensor.state = "connecting";
    this.#draw();
    try {
      const server = await sensor.gatt.connect();
      const found = await server.getPrimaryServices();
      const numbers = found.map((/** @type {any} */ {uuid}) => parseInt(uuid.slice(0, 8), 16));
      sensor.isStrap = numbers.includes(0x180D);
      for (const [service, characteristic] of [...Object.entries(services), [batteryService, 0x2A19]].map(
             (row) => row.map(Number)))
        if (numbers.includes(service)) await this.#listen(sensor, server, service, characteristic);
      [sensor.state, sensor.tries] = ["connected", 0];
      this.#draw();
    } catch {
      // What listens to this connection ends with it: two listeners would give each value twice.
      sensor.gatt.disconnect();
      this.#lose(sensor);
    }
  }

  /** @param {Sensor} sensor @param {any} server @param {number} service @param {number} number of the characteristic */
  async #listen(sensor, server, service, number) {
    const characteristic = await (await server.getPrimaryService(service)).getCharacteristic(number);
    const reader = new Reader(number);
    const take = () => {
      const values = reader.read(characteristic.value, performance.now() / 1000);
      if (Object.keys(values).length === 0) return;
      Object.assign(sensor.values, values);
      this.onValues(sensor, values);
      this.#draw();
    };
    characteristic.addEventListener("characteristicvaluechanged", take);
    try {
      // A battery may be readable alone.
      if (service === batteryService) await characteristic.readValue();
      await characteristic.startNotifications();
    } catch (error) {
      // Without its battery a sensor serves as well.
      if (service !== batteryService) throw error;
    }
  }

  /** @param {Sensor} sensor */
  #lose(sensor) {
    if (sensor.state === "lost") return;
    [sensor.state, sensor.values] = ["lost", {}];
    this.#draw();
    if (sensor.tries === Infinity) return;
    const delay = delays[Math.min(sensor.tries++, delays.length - 1)];
    setTimeout(() => sensor.tries < Infinity && this.#open(sensor), delay * 1000);
  }

  #draw() {
    const rows = this.all.map((sensor) => ({name: sensor.name, text: textOf(sensor)}));
    setList(
      byID("sensor-list"), rows, ({name, text}) => make("li", {}, make("span", {}, name), make("span", {}, text)));
    const needsPress = this.all.some(({state}) => state === "unknown");
    setText(byID("connect-sensor"), needsPress ? "Reconnect a sensor" : "Connect a sensor");
  }
}

/** @type {Record<string, string>} by their keys */
const quantities = {
  h: "heartRate",
  w: "power",
  cd: "cadence"
};

/** @param {Sensor} sensor */
function textOf({state, values}) {
  if (state === "connecting") return "connecting…";
  if (state === "lost") return "no connection, trying again";
  if (state === "unknown") return "not connected";
  const parts = Object.entries(quantities).filter(([key]) => values[key] !== undefined).map(([key,
    quantity]) => joined(format(quantity, values[key])));
  if (values.b !== undefined) parts.push(`battery ${joined(format("share", values.b))}`);
  return parts.join(", ") || "connected";
}
