// The device, as the page knows it: what it reports, and what can be asked of it.
//
//   on(name, listener)    listener(value) with each event of this name; at once where its state is known already
//   call(method, values)  a method of the device, e.g. call("Device.Lock"); its reply, or a DeviceError
//   enter(use, typed)     what was typed, as bytes, sealed for the page's server, and by that for the enclave
//
// Events: "connection" {isConnected}, "status" (Device.Status, null while the device does not answer), "prompt" (Agent.Prompt
// that is up, or null), "apps" (what prompts called the apps), "outcome" {event, prompt} when a prompt was taken down, and, for each stream of the device that the server
// relays (Feed.swift), its replies under its name, "NAME-end" when the device went away, and "NAME-start" when they begin again: what was
// shown of it before is old then;
// "ended" when the page's server is gone: from then on any program may answer at its address, so nothing is sent there again.

const listeners = new Map();
const known = new Map();
let isEnded = false;

/// The server's key, from the page's beginning: a program that has its port later cannot open what was sealed with it.
const pageKey = fetch("key").then(async (response) => {
  if (!response.ok) throw new DeviceError(null);
  return crypto.subtle.importKey("raw", await response.arrayBuffer(), "AES-GCM", false, ["encrypt"]);
});

/// Returns what ends it.
export function on(name, listener) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name).add(listener);
  if (known.has(name)) listener(known.get(name));
  return () => listeners.get(name).delete(listener);
}

/// The device's refusal, or null for `name` if there was no answer.
export class DeviceError extends Error {
  constructor(name, parameters) {
    super(name ?? "the device does not answer");
    this.error = name;
    this.parameters = parameters ?? {};
  }
}

export function call(method, values = {}) {
  return post(`call/io.touchstone.${method}`, "application/json", JSON.stringify(values));
}

/// use: "unlock", "change?kind=KIND", "erase-data?isOn=BOOL" or "prompt?prompt=ID&phase=PHASE"; typed: Uint8Arrays, which are zero afterwards.
export async function enter(use, ...typed) {
  const body = new Uint8Array(typed.reduce((sum, entry) => sum + entry.length + 1, -1));
  let end = 0;
  for (const entry of typed) {
    body.set(entry, end);
    end += entry.length + 1;
    entry.fill(0);
  }
  const path = `passcode/${use}`;
  let sealed;
  try {
    sealed = await seal(path, body);
  } finally {
    body.fill(0);
  }
  return post(path, "application/octet-stream", sealed);
}

/// As PageKey.swift opens it.
async function seal(path, bytes) {
  const nonce = crypto.getRandomValues(new Uint8Array(12));
  const parameters = { name: "AES-GCM", iv: nonce, additionalData: new TextEncoder().encode(path) };
  return new Blob([nonce, await crypto.subtle.encrypt(parameters, await pageKey, bytes)]);
}

async function post(path, type, body) {
  if (isEnded) throw new DeviceError(null);
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: { "Content-Type": type }, body });
  } catch {
    throw new DeviceError(null);
  }
  if (response.ok) {
    const { error, parameters } = await response.json();
    if (error) throw new DeviceError(error, parameters);
    return parameters;
  }
  throw new DeviceError(response.status === 503 ? null : `the page's server answered ${response.status}`);
}

function tell(name, value, isState = false) {
  if (isState) known.set(name, value);
  for (const listener of listeners.get(name) ?? []) listener(value);
}

/// Opens the stream of events. With its end the page has ended.
export async function connect(feeds = ["log", "keys", "messages"]) {
  try {
    await pageKey;
  } catch {
    return end();
  }
  const source = new EventSource("events");
  const lost = () => {
    tell("connection", { isConnected: false }, true);
    tell("status", null, true);
  };
  const hear = (name, listener) => source.addEventListener(name, (event) => listener(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    // Before it opens itself again, from the program that has the port now.
    source.close();
    end();
    lost();
    showPrompt(null);
  });
  hear("connection", (value) => value.isConnected ? tell("connection", value, true) : lost());
  hear("status", (reply) => tell("status", reply.status, true));
  hear("apps", (apps) => tell("apps", apps, true));
  hear("prompt", receivePrompt);
  hear("feed", ({ name, isRunning }) => {
    if (name === "prompt") showPrompt(null);
    else tell(`${name}-${isRunning ? "start" : "end"}`);
  });
  for (const name of feeds) hear(name, (reply) => tell(name, reply));
}

function end() {
  isEnded = true;
  tell("ended", true, true);
}

let shown = null;

function receivePrompt({ event, prompt }) {
  if (event === "show") {
    showPrompt(prompt);
    // The device takes a silent agent to be stuck. Another tab's call, or an answer, may have come first.
    call("Agent.ConfirmShown", { prompt: prompt.identifier }).catch(() => {});
  } else if (prompt && prompt.identifier === shown?.identifier) {
    showPrompt(null);
    tell("outcome", { event, prompt });
  }
}

function showPrompt(prompt) {
  shown = prompt;
  tell("prompt", prompt, true);
}
