import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import test from "node:test";
import {activities} from "../../../Services/Dashboard/Web/modules/activities.js";

const sheet = readFileSync(new URL("../../../Services/Dashboard/Web/style.css", import.meta.url), "utf8");
const pair = String.raw`light-dark\((#\w{6}), (#\w{6})\)`;

/** Both colours of a token, of which the first definition holds. @param {string} name @param {string} [within] */
const colors = (name, within = sheet) => new RegExp(`--${name}: ${pair}`).exec(within)?.slice(1) ?? [];

/** @param {string} color */
function luminance(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @param {string} a @param {string} b */
function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

test("the colour of each activity stands out from all grounds in both themes", () => {
  const rules =
    ["", ...Object.keys(activities)].map((name) => name && sheet.match(`\\[data-activity="${name}"\\][^}]*`)?.[0]);
  for (const rule of rules.map((rule) => rule || sheet)) {
    const route = colors("route", rule);
    assert.equal(route.length, 2, rule.slice(0, 80));
    for (const ground of ["ground", "raised", "paper"])
      for (const theme of [0, 1]) {
        const found = contrast(route[theme], colors(ground)[theme]);
        assert.ok(found >= 3, `${route[theme]} on ${ground}: ${found.toFixed(2)}`);
      }
  }
});

test("text has the sizes of the scale", () => {
  for (const name of ["style", "workout", "history", "compare", "charts", "account", "import"]) {
    const text = readFileSync(new URL(`../../../Services/Dashboard/Web/${name}.css`, import.meta.url), "utf8");
    // Paper has sizes of its own, and virtual runs have a part of their own.
    const screen =
      text.replace(/\/\* Virtual runs \*\/[^]*?\/\* Operator \*\//, "").replace(/@media print[^]*?\n}/, "");
    assert.deepEqual(screen.match(/font-size: (0?\.\d+|1(\.\d+)?)rem/g) ?? [], [], name);
  }
});
