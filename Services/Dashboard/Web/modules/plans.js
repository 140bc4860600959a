// The pages of plans. They are forms that work without this: it keeps the place and the input, names unsaved changes, and
// reads files.

import {byID, show} from "./dom.js";
import {followPage} from "./page.js";

/** Whether the engine has not answered the last change. */
let isPending = false;

followPage("/events", ["reply"], (_, {ok, error}) => {
  if (!isPending || ok !== false || !error?.code.startsWith("plan_")) return;
  isPending = false;
  complain(`Not saved: ${error.message}.${error.code === "plan_changed" ? " Press Save to see both versions." : ""}`);
});

const form = () => /** @type {HTMLFormElement | null} */ (document.getElementById("plan-form"));
let isSending = false;
let isLeaving = false;

const isChanged = () => byID("main").dataset.changed !== undefined;

function changed() {
  byID("main").dataset.changed = "";
  show(byID("unsaved"), true);
}

/** @param {string} text */
function complain(text) {
  let notice = document.getElementById("notice");
  if (!notice) {
    notice = document.createElement("div");
    notice.id = "notice";
    notice.tabIndex = -1;
    form()?.querySelector(".plan-head")?.after(notice);
  }
  notice.className = "notice plan-notice error";
  notice.setAttribute("role", "alert");
  const line = document.createElement("p");
  line.textContent = text;
  notice.replaceChildren(line);
  notice.scrollIntoView({block: "center"});
  notice.focus();
}

/**
 * Puts the server's answer in place of the form. Opened rows stay open.
 *
 * @param {Document} answer @param {HTMLButtonElement | null} button
 */
function replace(answer, button) {
  const main = byID("main");
  const next = answer.getElementById("main");
  if (!next) return complain("The server's answer cannot be shown. Your input is kept: try again.");
  const [verb] = (button?.value ?? "").split(" ");
  const isOrdered = !["up", "down", "remove"].includes(verb);
  const open = [...main.querySelectorAll("details[open]")].map(({id}) => id).filter((id) => id && isOrdered);
  const place = scrollY;
  const row = /** @type {HTMLElement | null} */ (next.querySelector("[autofocus]"));
  // The browser would complain that another element has the focus.
  row?.removeAttribute("autofocus");
  if (next.dataset.changed === undefined) delete main.dataset.changed;
  else main.dataset.changed = "";
  main.replaceChildren(...[...next.childNodes].map((node) => document.adoptNode(node)));
  document.title = answer.title;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  ready();
  const same =
    /** @type {HTMLElement | null} */ (row?.querySelector(`:scope .row-tools [value="${verb} ${row.id}"]:enabled`));
  scrollTo(0, place);
  const target = verb === "up" || verb === "down" ? same ?? row
    : verb === "add"                              ? row?.querySelector("input") ?? row
                                                  : row;
  // The button of a set is in its menu.
  if (target === same) same?.closest("details")?.setAttribute("open", "");
  target?.focus({preventScroll: true});
  target?.scrollIntoView({block: "nearest"});
}

/** @param {SubmitEvent} event */
async function submit(event) {
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  const sent = /** @type {HTMLFormElement} */ (event.target);
  event.preventDefault();
  if (isSending) return;
  isSending = true;
  sent.setAttribute("aria-busy", "true");
  const values = new FormData(sent);
  if (button?.name) values.set(button.name, button.value);
  try {
    const answer = await fetch(sent.action, {method: "POST", body: new URLSearchParams(/** @type {any} */ (values))});
    const text = await answer.text();
    isPending = answer.status === 202;
    if (answer.redirected && answer.ok) {
      isLeaving = true;
      // The same page with another query is a new visit.
      location.assign(answer.url);
    } else if (answer.status === 401) {
      complain("You are logged out. Log in in another tab, then press again: your input is kept here.");
    } else if (!answer.headers.get("Content-Type")?.startsWith("text/html")) {
      complain(`The server refused the form with status ${answer.status}. Your input is kept.`);
    } else {
      replace(new DOMParser().parseFromString(text, "text/html"), button);
    }
  } catch {
    complain("No connection to the server. Your input is kept: try again.");
  } finally {
    isSending = false;
    form()?.removeAttribute("aria-busy");
  }
}

/** What a new form needs. */
function ready() {
  const zone = /** @type {HTMLInputElement | null} */ (document.getElementById("time-zone"));
  if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  form()?.addEventListener("submit", submit);
  form()?.addEventListener("input", (event) => {
    const {name} = /** @type {HTMLInputElement} */ (event.target);
    if (name !== "json" && !name.startsWith("start.")) changed();
  });
  const file = /** @type {HTMLInputElement | null} */ (document.getElementById("json-file"));
  file?.addEventListener("change", async () => {
    const text = await file.files?.[0]?.text();
    if (text !== undefined) /** @type {HTMLTextAreaElement} */
      (byID("json")).value = text;
  });
}

addEventListener("beforeunload", (event) => {
  if (isChanged() && !isLeaving) event.preventDefault();
});
ready();
