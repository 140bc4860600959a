// Leaflet, loaded with the first map of a page; most pages never show one. Its styles come before the page's own rules.

import {make} from "./dom.js";

const styles = make("link", {rel: "stylesheet", href: new URL("../leaflet/leaflet.css", import.meta.url).href});
const isStyled = new Promise((resolve) => Object.assign(styles, {onload: resolve, onerror: resolve}));
document.querySelector("style")?.before(styles);

const [leaflet] = await Promise.all([import("../leaflet/leaflet.js"), isStyled]);

export default leaflet;
