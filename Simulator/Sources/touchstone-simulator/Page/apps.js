// The apps that the device has named since this page was opened, and those whose names the page's server has.
import { call, on } from "./device.js";

const apps = new Map();
const listeners = new Set();

/// listener(apps) now and whenever they change: [{identifier, name, isBackground}], in the order in which they came.
export function onApps(listener) {
  listeners.add(listener);
  listener([...apps.values()]);
}

/// Where an app is, as people send it with the home button.
export async function move(identifier, state) {
  await call("Device.SetApplicationState", { app: identifier, state });
  meet(identifier).isBackground = state === "background";
  tell();
}

function meet(identifier, name) {
  if (!apps.has(identifier)) apps.set(identifier, { identifier, name: identifier.split(/[/:]/).pop() || identifier, isBackground: false });
  const app = apps.get(identifier);
  if (name) app.name = name;
  return app;
}

function tell() {
  for (const listener of listeners) listener([...apps.values()]);
}

on("prompt", (prompt) => {
  if (!prompt) return;
  meet(prompt.app.identifier, prompt.app.name);
  tell();
});
on("apps", (named) => {
  for (const { identifier, name } of named) meet(identifier, name);
  tell();
});
on("log", ({ lines }) => {
  const before = apps.size;
  for (const line of lines) {
    const { app } = JSON.parse(line);
    if (app) meet(app);
  }
  if (apps.size !== before) tell();
});
on("connection", ({ isConnected }) => {
  // A device that restarts has every app in the foreground.
  if (isConnected) return;
  for (const app of apps.values()) app.isBackground = false;
  tell();
});
