// The list of the reader's plans.

import {byID, make, setList, setText, show} from "./dom.js";
import {when} from "./format.js";
import {bus, login, ownsWorkouts, settle} from "./page.js";
import {summaryOf, titleOf} from "./plan-form.js";
import {newID} from "./requests.js";
import {userTopic} from "./topics.js";

for (const [id, query] of [["new", "?new"], ["import", "?new=import"]])
  /** @type {HTMLAnchorElement} */ (byID(id)).href = `/plans/${newID()}${query}`;
show(byID("deleted"), location.search === "?deleted");

if (ownsWorkouts) {
  bus.subscribe(userTopic(login, "plans"), {
    onMessage: (_, saved) => draw(saved?.plans ?? []),
    onReady() {
      show(byID("none"), byID("plans").children.length === 0);
      settle();
    }
  });
} else {
  for (const id of ["new", "import"]) show(byID(id), false);
  setText(byID("trouble"), "Plans are for people who train. This account only watches others.");
  show(byID("trouble"), true);
  settle();
}

/** @param {any[]} plans */
function draw(plans) {
  setList(byID("plans"), plans,
    ({plan, savedAt, definition}) => make("li", {className: "card"},
      make("a", {href: `/plans/${plan}`}, make("strong", {className: "card-user"}, titleOf(definition)),
        make("span", {}, summaryOf(definition)), make("span", {className: "card-name"}, `Saved ${when(savedAt)}`))));
  show(byID("none"), plans.length === 0);
}
