// Downloads of a workout's file on its page.

import {announce, byID, make, setList} from "./dom.js";
import {failureText, fetchFile, formats, partSize, saveFile, sizeText, waitText} from "./files.js";

/** @typedef {{ text: string, isRefused?: boolean, share?: number, cancel?: () => void }} Download */

/**
 * The list of formats; each is fetched when it is pressed.
 *
 * @param {import("./bus.js").Bus} bus @param {string} topic `request` of the session
 */
export function offerFiles(bus, topic) {
  /** @type {Map<string, Download>} */
  const downloads = new Map();

  function draw() {
    const rows = Object.entries(formats).map(([format, use]) => {
      const {text = use, isRefused = false, share, cancel} = downloads.get(format) ?? {};
      return {format, text, isRefused, share, isRunning: cancel !== undefined};
    });
    setList(byID("files"), rows, ({format, text, isRefused, share, isRunning}) => {
      const name = format.toUpperCase();
      const button = make("button", {type: "button"}, isRunning ? "Cancel" : name);
      button.setAttribute("aria-label",
        isRunning ? `${name}: cancel` : `${name}: download, ${formats[/** @type {keyof formats} */ (format)]}`);
      button.addEventListener("click", () => (isRunning ? downloads.get(format)?.cancel?.() : load(format)));
      const line = make(
        "li", {className: isRefused ? "refused" : ""}, button, make("span", {}, isRunning ? `${name}: ${text}` : text));
      if (!isRunning) return line;
      const progress = /** @type {HTMLProgressElement} */ (make("progress", {ariaLabel: name}));
      if (share !== undefined) progress.value = share;
      line.append(progress);
      return line;
    });
  }

  /** @param {string} format */
  async function load(format) {
    const name = format.toUpperCase();
    const controller = new AbortController();
    const cancel = () => controller.abort();
    /** @param {Download} download */
    const set = (download) => {
      downloads.set(format, download);
      draw();
    };
    let spoken = "";
    set({text: "asking for it…", cancel});
    announce(`${name} is being downloaded`);
    try {
      const {blob, name: file, isIncomplete} = await fetchFile(bus, topic, format, {
        signal: controller.signal,
        onProgress({have, of, wait}) {
          const waiting = waitText(wait);
          if (waiting !== spoken) announce(spoken = waiting);
          const text = of === 0 ? "asking for it…" : `${sizeText(have * partSize)} of ${sizeText(of * partSize)}`;
          set({text: waiting || text, share: of === 0 ? undefined : have / of, cancel});
        }
      });
      saveFile(blob, file);
      const text = `${sizeText(blob.size)} downloaded${isIncomplete ? "; data of a device is still missing" : ""}`;
      set({text});
      announce(`${name}: ${text}`);
    } catch (/** @type {any} */ error) {
      if (error.code === "aborted") {
        downloads.delete(format);
        return draw();
      }
      const text = failureText(error);
      set({text, isRefused: true});
      announce(`${name}: ${text}`);
    }
  }

  draw();
}
