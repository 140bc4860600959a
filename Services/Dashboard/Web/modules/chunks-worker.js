// Decodes chunks beside the page, so that a long workout does not stop it.

import {merge} from "./chunks.js";
import {details} from "./workout-data.js";

addEventListener("message", ({data: {parts, workout}}) => {
  const made = details(workout, merge(parts.series), merge(parts.track));
  postMessage(made);
});
