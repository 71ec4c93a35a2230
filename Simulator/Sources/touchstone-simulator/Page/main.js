// Puts the page together.
import { showPane } from "./app-pane.js";
import { connect, on } from "./device.js";
import { element, setText } from "./elements.js";
import { showControls } from "./controls.js";
import { showFace } from "./face.js";
import { showInspector } from "./inspector.js";
import { showSettings } from "./settings.js";
import { plain } from "./words.js";

const panels = { controls: showControls, settings: showSettings, inspector: showInspector };
const find = (testid) => document.querySelector(`[data-testid="${testid}"]`);

showFace(find("screen"));
showPane(find("app-pane")).catch(() => {});
for (const [name, show] of Object.entries(panels)) show(document.getElementById(name), find("hands"));

function select(name) {
  for (const other of Object.keys(panels)) {
    const tab = document.getElementById(`tab-${other}`);
    tab.setAttribute("aria-selected", other === name);
    tab.tabIndex = other === name ? 0 : -1;
    document.getElementById(other).hidden = other !== name;
  }
}

const names = Object.keys(panels);
for (const [place, name] of names.entries()) {
  const tab = document.getElementById(`tab-${name}`);
  tab.addEventListener("click", () => select(name));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = names[(place + step + names.length) % names.length];
    select(next);
    document.getElementById(`tab-${next}`).focus();
  });
}
select("controls");

let deviceName = "Simulator";
let asking = null;
let isConnected = null;
let isLocked = null;
const asker = () => plain((asking.client ?? asking.app).name, 40);
// What the device does now.
const tellState = () => {
  if (isConnected === null || find("ended")) return;
  const state = asking ? `, asking for ${asker()}` : isLocked === null ? "" : isLocked ? ", locked" : ", unlocked";
  setText(find("connection"), isConnected ? `Connected${state}` : "The device does not answer: waiting for it…");
  find("connection").classList.toggle("is-away", !isConnected);
};
on("connection", (connection) => {
  ({ isConnected } = connection);
  tellState();
});
// A prompt is seen from another tab, too.
const nameTab = () => {
  document.title = `${asking ? `Asked by ${asker()} – ` : ""}${deviceName} – Touchstone simulator`;
};
on("status", (status) => {
  isLocked = status?.isLocked ?? null;
  tellState();
  if (!status) return;
  deviceName = status.name;
  setText(find("device-name"), deviceName);
  nameTab();
});
on("prompt", (prompt) => {
  asking = prompt;
  nameTab();
  tellState();
});
on("ended", () => {
  const words = "This page has ended: its server is gone, or it fell too far behind. Run touchstone simulator where it is gone, and open "
    + "the address that it prints. Type nothing at this one.";
  // What was typed and not sent goes with its fields.
  for (const field of document.querySelectorAll("input")) field.value = "";
  document.querySelector("main").replaceChildren(element("p", { testid: "ended", role: "alert" }, words));
  setText(find("connection"), "Ended");
  find("connection").classList.add("is-away");
});
connect();
