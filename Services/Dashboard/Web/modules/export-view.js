// *Export everything* on the page of the account.

import {byID, keep, kept, make, setList, setText, show} from "./dom.js";
import {canExport, forgetExport, openExport} from "./export-copy.js";
import {ExportJob} from "./export-job.js";
import {saveFile, sizeText, waitText} from "./files.js";
import {counted, grouped, when} from "./format.js";

const impossible = "This browser cannot write a large file bit by bit. Open this page over HTTPS, outside a private " +
  "window, in a current browser. Each workout’s page has its files too, and so does the command pacebus export.";

/** @type {Record<import("./export-job.js").Phase, string>} */
const spoken = {
  none: "",
  running: "The export runs.",
  paused: "The export is paused.",
  done: "The export is complete.",
  elsewhere: ""
};

/**
 * Shows what an earlier page has exported, and continues it.
 *
 * @param {import("./bus.js").Bus} bus @param {string} login
 */
export async function openExports(bus, login) {
  if (!await canExport()) {
    setText(byID("export-text"), impossible);
    return undefined;
  }
  /** @type {ExportJob | undefined} */
  let job;
  const forget = () => forgetExport(login);
  const onChange = () => job && draw(job, login);
  job = new ExportJob(bus, login, {onChange, read: kept, keep, forget});
  draw(job, login);
  return job;
}

/** @param {import("./export-job.js").State} state */
function words({phase, done, of, bytes, stopped, at}) {
  const count = `${grouped(done)} of ${counted(of, "workout")}, ${sizeText(bytes)}`;
  switch (phase) {
    case "running":
      return of === 0 ? "Exporting…" : `Exporting: ${count}`;
    case "paused":
      return [stopped, of === 0 ? "Paused." : `Paused: ${count}.`].filter(Boolean).join(" ");
    case "elsewhere":
      return of === 0 ? "Another tab exports." : `Another tab exports: ${count}.`;
    case "done":
      return `Exported on ${when(at)}: ${counted(of, "workout")}, ${
        sizeText(bytes)}. The file stays in this browser until you remove it or log out.`;
    default:
      return "One zip file with each workout as FIT and JSON, the profile, the plans and the virtual runs.";
  }
}

/** @param {ExportJob} job @param {string} login */
function draw(job, login) {
  const {state} = job;
  const {phase, done, of, now, wait, failures, stopped} = state;
  setText(byID("export-text"), words(state));
  byID("export-text").classList.toggle("refused", stopped !== "" && phase === "paused");
  const waiting =
    wait === "engine" ? "No answer from session-engine yet. This page asks again while it is open." : waitText(wait);
  setText(byID("export-now"), waiting || now);
  show(byID("export-now"), phase === "running");
  setText(byID("export-status"), [spoken[phase], waiting || stopped].filter(Boolean).join(" "));
  const progress = /** @type {HTMLProgressElement} */ (byID("export-progress"));
  show(progress, phase === "running" || (phase === "paused" && of > 0));
  if (of > 0) [progress.max, progress.value] = [of, done];
  else progress.removeAttribute("value");
  /** @type {Record<string, () => void>} */
  const acts = {
    "Export everything": () => job.run(true),
    "Pause": () => job.pause(),
    "Continue": () => job.run(),
    "Continue here": () => job.run(),
    "Try again": () => job.run(),
    "Download": () => download(job, login),
    "Bring up to date": () => job.run(),
    "Cancel and remove the file": () => job.cancel(),
    "Remove the file": () => job.cancel(),
  };
  const buttons = {
    none: ["Export everything"],
    running: ["Pause", "Cancel and remove the file"],
    paused: ["Continue", "Cancel and remove the file"],
    elsewhere: ["Continue here"],
    done: ["Download", ...(failures.length > 0 ? ["Try again"] : ["Bring up to date"]), "Remove the file"]
  }[phase];
  setList(byID("export-buttons"), buttons, (label) => {
    const button =
      make("button", {type: "button", className: label === buttons[0] && phase === "done" ? "primary" : ""}, label);
    button.addEventListener("click", acts[label]);
    return button;
  });
  setText(byID("export-failures-title"), `${counted(failures.length, "file")} missing or incomplete`);
  setList(byID("export-failure-list"), failures,
    ({what, why}) => make("li", {}, make("strong", {}, what), make("span", {}, why)));
  show(byID("export-failures"), phase === "done" && failures.length > 0);
}

/** @param {ExportJob} job @param {string} login */
async function download(job, login) {
  try {
    const file = await openExport(login);
    saveFile(file, `pacebus-${login}-${new Date(job.state.at * 1000).toISOString().slice(0, 10)}.zip`);
  } catch {
    setText(byID("export-text"), "This browser has removed the file. Export again.");
  }
}
