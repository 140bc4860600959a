// Before the first paint, so that a chosen theme never flashes and nothing moves. No module: modules run after it.
document.documentElement.classList.add("scripted");
// Who reads the page, asked for before its modules come.
/** @type {any} */ (globalThis).pacebusReader =
  document.querySelector("script[type=module]") && location.pathname !== "/login" ? fetch("/me", {cache: "no-store"})
                                                                                  : undefined;
// Without a connection it fails before a module awaits it.
/** @type {any} */ (globalThis).pacebusReader?.catch(() => {});
// A press of a button that waits for the modules is repeated when they have run.
{
  /** @type {any} */
  let pressed;
  const note = (/** @type {Event} */ event) => pressed =
    /** @type {Element} */ (event.target).closest("button");
  addEventListener("click", note, true);
  addEventListener("modules", () => {
    removeEventListener("click", note, true);
    pressed?.click();
  }, {once: true});
}
// Theme, and how Home shows people. A browser may block the storage.
for (const [name, usual] of [["theme", "system"], ["view", "cards"], ["map", "off"]]) {
  let chosen;
  try {
    chosen = localStorage.getItem(`pacebus.${name}`);
  } catch {
  }
  document.documentElement.dataset[name] = chosen ?? usual;
}
