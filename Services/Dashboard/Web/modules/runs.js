// The page of all virtual runs of the reader, and the form that creates one.

import { ask } from "./ask.js";
import { newID } from "./commands.js";
import { all, byID, make, setList, setText, show } from "./dom.js";
import { request, requestLine, requests, whenRequestsChange } from "./invitations.js";
import { dialog, followPage, units } from "./page.js";
import { entry, overview, proposal } from "./run-form.js";

const { login = "" } = byID("main").dataset;
/**
 * By run.
 *
 * @type {Map<string, any>}
 */
const runs = new Map();
let status = "Loading…";
let asked = "";

followPage("/events", ["view", "reply"], (name, data) => {
  if (name === "reply") return answers.replied(data);
  const run = overview(data.payload);
  runs.set(run.run.toLowerCase(), run);
  draw();
});

const answers = ask((reply) => {
  status = reply.error?.message ?? "No virtual run yet. Invite somebody, or accept an invitation.";
  for (const run of reply.runs ?? []) {
    if (!runs.has(run.run.toLowerCase())) runs.set(run.run.toLowerCase(), run);
  }
  draw();
}, (text) => {
  status = text;
  draw();
});
answers.ask("runs", { limit: 50 });

function draw() {
  const list = [...runs.values()].sort((a, b) => b.createdAt - a.createdAt).map((run) => entry(run, Intl.DateTimeFormat().resolvedOptions().timeZone));
  setList(byID("runs"), list, ({ run, name, status, date, text, isOpen }) => make("li", { className: "card", data: { status: isOpen ? "active" : "completed", activity: "running" } },
    make("a", { href: `/virtual-runs/${run}` },
      make("span", { className: "card-head" }, make("strong", { className: "card-user" }, name), make("span", { className: "chip" }, status)),
      make("span", { className: "card-name" }, date), make("span", {}, text))));
  setText(byID("empty"), status);
  show(byID("empty"), list.length === 0 || status === "Loading…");
  drawPress();
}

function drawPress() {
  const line = asked ? requestLine(asked) : { text: "", isRefused: false };
  setText(byID("press"), line.text);
  byID("press").classList.toggle("refused", line.isRefused);
}
whenRequestsChange(drawPress);
setInterval(drawPress, 1000);

const form = /** @type {HTMLFormElement} */ (byID("invite-form"));
const values = () => /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)));

function drawForm() {
  const { goal, start } = values();
  for (const field of all("[data-goal]", form)) show(field, field.dataset.goal === goal);
  for (const field of all("[data-start]", form)) show(field, field.dataset.start === start);
  setText(byID("distance-unit"), units() === "imperial" ? "mi" : "km");
}

byID("invite").addEventListener("click", () => {
  drawForm();
  dialog("invite-dialog").showModal();
});
form.addEventListener("input", () => {
  show(byID("invite-error"), false);
  drawForm();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { at, ...others } = values();
  const made = proposal(others.start === "rolling" ? others : { ...others, at }, units(), login);
  setText(byID("invite-error"), "error" in made ? made.error : "");
  show(byID("invite-error"), "error" in made);
  if ("error" in made) return;
  if (asked) requests.dismiss(asked);
  asked = newID();
  request(asked, "create", made.fields);
  dialog("invite-dialog").close();
});
