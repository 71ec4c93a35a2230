// The messages between the processes as a sequence diagram: a list, each entry of which lies across its lanes.
import { onApps } from "./apps.js";
import { on } from "./device.js";
import { element, setText } from "./elements.js";
import { clock, part, size } from "./inspector-part.js";
import { lookUps, messageWords, saying } from "./inspector-words.js";
import { methods } from "./methods.js";
import { appName, plain } from "./words.js";

const lanes = { agent: 0, owner: 0, app: 1, touchstoned: 2, enclave: 3 };
const names = { agent: "Agent", owner: "Owner", app: "App", touchstoned: "touchstoned", enclave: "Enclave" };
/// Most messages that are kept, and as many look-ups; the oldest go.
const most = 300;
/// Seconds of silence after which the time is told.
const silence = 1.5;
/// What comes within so many milliseconds is shown together.
const pace = 40;
/// Seconds that no restart is faster than.
const restart = 0.05;

export function showMessages() {
  const list = element("ol", { class: "messages", testid: "messages", "aria-label": "Messages, the oldest first" });
  const count = element("p", { class: "note", testid: "messages-count" });
  const empty = element("p", { class: "note nothing" }, "Nothing yet. Use an app, lock the device or touch its sensor, and the messages appear here.");
  const pause = element("button", { type: "button", class: "plain", testid: "messages-pause", onclick: () => setPaused(!isPaused) }, "Pause");
  const clear = element("button", { type: "button", class: "plain", testid: "messages-clear", onclick: forget }, "Clear");
  const everything = element("input", { type: "checkbox", testid: "messages-look-ups", onchange: redraw });
  const lane = (name, text) => element("div", { class: `lane of-${name}` }, text[0], element("small", {}, text[1]));
  const scroll = element("div", { class: "scroll tall diagram" },
    element("div", { class: "lanes", "aria-hidden": "true" }, lane("you", ["You", "touches, prompts"]), lane("app", ["App", "asks"]),
      lane("touchstoned", ["touchstoned", "stores, carries"]), lane("enclave", ["Enclave", "decides"])),
    empty, list);
  const section = part("messages", "What the processes say to each other",
    "Each arrow is one message, the newest last. A dashed arrow is an answer. Only touchstoned is connected to the enclave, so no app can ask it anything. Choose a message to see the names and size of what it carried. Its contents are not shown.",
    element("div", { class: "row tools" }, pause, clear,
      element("label", { class: "check" }, everything, "Show look-ups, too")),
    scroll, count);

  let messages = [];
  // What came since it was last shown.
  let waiting = [];
  let timer = null;
  let isPaused = false;
  // Whether old ones are gone: look-ups, and others.
  let isCut = { true: false, false: false };
  let apps = [];
  let newest = null;
  // The list's entries, by message.
  const shown = new Map();
  let selected = null;

  const isLookUp = (message) => lookUps.has(message.method);
  const isWanted = (message) => everything.checked || !isLookUp(message);

  function show(message) {
    if (!isWanted(message)) return;
    const item = entry(message, [...shown.keys()].at(-1));
    shown.set(message, item);
    list.append(item);
  }

  function newestOf(all) {
    const excess = { true: -most, false: -most };
    for (const message of all) excess[isLookUp(message)] += 1;
    return all.filter((message) => {
      if (excess[isLookUp(message)]-- <= 0) return true;
      isCut[isLookUp(message)] = true;
      drop(message);
      return false;
    });
  }

  function drop(message) {
    const item = shown.get(message);
    if (!item) return;
    // A screen reader there continues with the next.
    if (item.contains(document.activeElement)) item.nextElementSibling?.querySelector("button")?.focus({ preventScroll: true });
    if (selected === item) selected = null;
    item.remove();
    shown.delete(message);
  }

  function settle(isAtEnd) {
    const came = waiting.filter(isWanted).length;
    // The tab key leads to the newest, as long as nobody reads another.
    const newestLine = [...list.querySelectorAll("button")].at(-1);
    if (newestLine && !selected && !list.contains(document.activeElement)) rove(newestLine);
    empty.hidden = list.childElementCount > 0;
    setText(pause, isPaused ? "Go on" : "Pause");
    const hidden = messages.filter((message) => !isWanted(message)).length;
    setText(count, [
      isPaused ? (came ? `Paused: ${came} more came.` : "Paused.") : "",
      hidden ? `${hidden} more only looked something up.` : "", isCut.false || (everything.checked && isCut.true) ? "Older ones are gone." : "",
    ].filter(Boolean).join(" "));
    if (isAtEnd) scroll.scrollTop = scroll.scrollHeight;
  }

  const isAtEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;

  function receive({ messages: incoming, lost }) {
    if (incoming.length === 0) return;
    const isAnew = newest && incoming[0].sequence <= newest.sequence && incoming[0].time > newest.time + restart;
    // Otherwise the stream may begin with entries that were already shown, because the page lost its server for a moment.
    const fresh = isAnew || !newest ? [...incoming] : incoming.filter(({ sequence }) => sequence > newest.sequence);
    if (fresh.length === 0) return;
    newest = fresh.at(-1);
    if (lost) fresh.unshift({ note: `${lost} messages came too fast to be shown.` });
    if (isAnew) fresh.unshift({ note: "The device restarted." });
    waiting = newestOf([...waiting, ...fresh]);
    timer ??= setTimeout(take, pace);
  }

  function take() {
    clearTimeout(timer);
    timer = null;
    const stays = isAtEnd();
    if (!isPaused) {
      const before = new Set(messages);
      messages = newestOf([...messages, ...waiting]);
      waiting = [];
      for (const message of messages) if (!before.has(message)) show(message);
    }
    settle(stays && !isPaused);
  }

  function setPaused(next) {
    isPaused = next;
    take();
  }

  function forget() {
    messages = [];
    waiting = [];
    isCut = { true: false, false: false };
    redraw();
  }

  function redraw() {
    shown.clear();
    selected = null;
    list.replaceChildren();
    for (const message of messages) show(message);
    settle(true);
  }

  function entry(message, before) {
    if (message.note) return element("li", { class: "message-note" }, message.note);
    const { from, to, method, outcome } = message;
    const [left, right] = [lanes[from], lanes[to]].sort();
    const kind = outcome === undefined ? "call" : outcome === "more" ? "part" : outcome === "ok" ? "answer" : "refusal";
    const isLater = !before?.time || message.time - before.time > silence;
    const button = element("button", {
      type: "button", class: "message", "aria-expanded": "false", tabindex: "-1", "data-span": `${left}${right}`,
      "data-way": lanes[to] > lanes[from] ? "right" : "left", onclick: () => open(item, message), onfocus: () => rove(button),
      onkeydown: (event) => step(event, item),
    },
    element("span", { class: "unseen" }, parties(message)),
    element("span", { class: "message-words" }, saying(message),
      element("small", {}, `${plain(method.split(".").pop(), 60)} · ${size(message.bytes)}`)),
    element("span", { class: "arrow", "aria-hidden": "true" }));
    const item = element("li", {
      "data-from": from, "data-to": to, "data-kind": kind, "data-method": method,
    }, isLater ? element("small", { class: "moment" }, clock(new Date(message.time * 1000))) : null, button);
    return item;
  }

  function parties({ from, to, app, outcome }) {
    const name = (party) => (party === "app" && app ? appName(app, apps) : names[party] ?? plain(party, 20));
    return `${name(from)} to ${name(to)}, ${outcome === undefined ? "asks" : "answers"}: `;
  }

  function rove(button) {
    for (const other of list.querySelectorAll('button[tabindex="0"]')) other.tabIndex = -1;
    button.tabIndex = 0;
  }

  function step(event, item) {
    const places = [...list.querySelectorAll("button.message")];
    const place = places.indexOf(item.querySelector("button"));
    const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: places.length - 1 }[event.key];
    if (next === undefined || !places[next]) return;
    event.preventDefault();
    places[next].focus();
  }

  function open(item, message) {
    const isOpen = item.querySelector("dl");
    selected?.querySelector("dl")?.remove();
    selected?.querySelector("button").setAttribute("aria-expanded", "false");
    selected = null;
    for (const other of list.querySelectorAll(".is-pair")) other.classList.remove("is-pair");
    if (isOpen) return;
    selected = item;
    item.querySelector("button").setAttribute("aria-expanded", "true");
    item.append(detail(message));
    if (message.call !== undefined) {
      for (const [other, line] of shown) if (other !== message && other.call === message.call) line.classList.add("is-pair");
    }
    item.scrollIntoView({ block: "nearest" });
  }

  on("messages", receive);
  onApps((next) => {
    apps = next;
    for (const [message, item] of shown) if (!message.note) setText(item.querySelector(".unseen"), parties(message));
  });
  settle(true);
  return { section, name: "Messages", refresh: () => settle(true) };
}

function detail(message) {
  const { from, to, app, method, outcome, duration, bytes } = message;
  const isCall = outcome === undefined;
  const carried = isCall ? methods[method]?.[0] : outcome === "ok" || outcome === "more" ? methods[method]?.[1] : ["error"];
  const facts = [
    ["Why", messageWords[method]?.[2]],
    ["From, to", `${names[from]} to ${names[to]}`],
    ["Program", app && element("span", { class: "foreign" }, plain(app, 200))],
    ["Method", element("code", {}, plain(method, 120) || "unknown")],
    ["Carries", !carried ? "nobody knows" : carried.length ? element("code", {}, carried.join(", ")) : "nothing"],
    ["Size", `${size(bytes)}, the whole message`],
    ["Answer", isCall ? null : outcome === "more" ? "one of a stream" : outcome === "ok" ? "done" : element("code", {}, plain(outcome, 120))],
    ["Took", duration === undefined ? null : `${(duration * 1000).toFixed(1)} ms after the question`],
    ["At", clock(new Date(message.time * 1000), true)],
  ];
  return element("dl", { class: "facts", testid: "message-detail" }, facts.filter(([, value]) => value).map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}
