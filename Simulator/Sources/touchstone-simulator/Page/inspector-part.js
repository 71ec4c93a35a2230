// What the inspector's parts have in common.
import { element } from "./elements.js";

/// A part: its heading, one sentence that says what is seen, and what is seen.
export function part(name, title, explanation, ...content) {
  const id = `inspector-${name}-title`;
  return element("section", { id: `inspector-${name}`, class: "group part", testid: `inspector-${name}`, "aria-labelledby": id },
    element("h3", { id }, title), element("p", { class: "note" }, explanation), ...content);
}

/// Whether somebody looks at it.
export function isShown(section) {
  return section.offsetParent !== null;
}

/// "1.2 kB".
export function size(bytes) {
  return bytes < 10000 ? `${bytes.toLocaleString("en")} B` : `${(bytes / 1000).toFixed(1)} kB`;
}

export function clock(time, withMilliseconds = false) {
  const text = time.toLocaleTimeString("en", { hourCycle: "h23" });
  return withMilliseconds ? `${text}.${String(time.getMilliseconds()).padStart(3, "0")}` : text;
}
