// Small means to make and change elements. Text only ever becomes text, never markup.

/// An element: element("button", {testid: "lock", class: "quiet", onclick: …}, "Lock").
/// `testid` is its data-testid, functions are listeners, false and null leave an attribute out, true makes it empty.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const svgNamespace = "http://www.w3.org/2000/svg";

/// An SVG picture of strokes, which the text beside it describes.
export function glyph(name, ...paths) {
  const picture = document.createElementNS(svgNamespace, "svg");
  picture.setAttribute("viewBox", "0 0 32 32");
  picture.setAttribute("class", `glyph ${name}`);
  picture.setAttribute("aria-hidden", "true");
  for (const path of paths) {
    const line = document.createElementNS(svgNamespace, "path");
    line.setAttribute("d", path);
    picture.append(line);
  }
  return picture;
}

export const fingerprint = () =>
  glyph("fingerprint",
    "M6 19c0-7 4-12 10-12s10 5 10 11c0 3-.2 5-.6 7", "M10 25c.7-2 1-4.500 1-7 0-3.500 2-6 5-6s5 2.500 5 6c0 3.500-.4 6.500-1.300 9.500",
    "M16 17.500c0 4.500-.5 8-1.500 10.500", "M9 9.500C11 7.500 13.500 6.500 16 6.500");

export const faceGlyph = () =>
  glyph("face", "M5 11V8a3 3 0 0 1 3-3h3", "M21 5h3a3 3 0 0 1 3 3v3", "M27 21v3a3 3 0 0 1-3 3h-3", "M11 27H8a3 3 0 0 1-3-3v-3",
    "M11.500 12v2.500", "M20.500 12v2.500", "M16 12v5.500h-1.500", "M11.500 20.500c2.500 2.300 6.500 2.300 9 0");

export const padlock = () =>
  glyph("padlock", "M9 14.500h14a2 2 0 0 1 2 2V25a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2v-8.500a2 2 0 0 1 2-2z", "M11 14v-3.500a5 5 0 0 1 10 0V14");

/// Gives `parent` these children, and leaves alone those that it has already.
export function replaceChildren(parent, ...children) {
  const wanted = children.flat().filter(Boolean);
  if (wanted.length === parent.childNodes.length && wanted.every((child, place) => child === parent.childNodes[place])) return;
  parent.replaceChildren(...wanted);
}

/// Gives `parent` one child for each value: `make(value)` where its key is new, the one it has else, so that it keeps the focus. `update(child, value)`
/// is called for all.
export function keepChildren(parent, values, { key, make, update = () => {} }) {
  const kept = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  replaceChildren(parent, values.map((value) => {
    const child = kept.get(key(value)) ?? make(value);
    child.dataset.key = key(value);
    update(child, value);
    return child;
  }));
}

/// Sets the text where it changes: a screen reader reads a live region again whenever it is set.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.replace(/^on/, ""), value);
    else if (value === false || value === null || value === undefined) continue;
    else node.setAttribute(name === "testid" ? "data-testid" : name, value === true ? "" : value);
  }
}
