// Names of people in forms, and the reader's contacts.

import {make, show} from "./dom.js";

/**
 * The account names in a text, each once.
 *
 * @param {string} text
 */
export const names = (text) => [...new Set(text.split(/[\s,;]+/).filter(Boolean).map((name) => name.toLowerCase()))];

/**
 * Buttons that add a contact to the field of a form, or take it out again.
 *
 * @param {HTMLElement} box @param {string[]} contacts @param {HTMLInputElement} input
 */
export function contactButtons(box, contacts, input) {
  show(box, contacts.length > 0);
  box.replaceChildren(...contacts.map((contact) => {
    const button = make("button", {type: "button", ariaPressed: String(names(input.value).includes(contact))}, contact);
    button.addEventListener("click", () => {
      const others = names(input.value).filter((name) => name !== contact);
      const isAdded = others.length === names(input.value).length;
      input.value = (isAdded ? [...others, contact] : others).join(" ");
      button.setAttribute("aria-pressed", String(isAdded));
    });
    return button;
  }));
}
