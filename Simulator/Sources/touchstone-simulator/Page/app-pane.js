// The page of an app beside the device, in a frame: another origin, which reaches nothing of this page.
import { element, setText } from "./elements.js";
import { plain } from "./words.js";

const listeners = new Set();
let pane = null;

/// listener({name, open}) once the app is known that stands beside the device; never, if none does.
/// `open` brings it into sight, and gives it the keyboard.
export function onPane(listener) {
  listeners.add(listener);
  if (pane) listener(pane);
}

export async function showPane(section) {
  const response = await fetch("app");
  const app = response.ok ? await response.json() : null;
  if (!app) return;
  const name = plain(app.name, 40);
  // Its own origin is all that the app keeps.
  const frame = element("iframe", { title: name, sandbox: "allow-scripts allow-same-origin allow-forms", referrerpolicy: "no-referrer", src: app.url });
  setText(section.querySelector("h2"), name);
  section.append(frame);
  section.hidden = false;
  document.body.classList.add("has-app");
  const open = () => {
    section.scrollIntoView({ block: "nearest" });
    frame.focus();
  };
  pane = { name, open };
  for (const listener of listeners) listener(pane);
}
