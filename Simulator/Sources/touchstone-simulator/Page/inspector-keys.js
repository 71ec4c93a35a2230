// Which process has which keys, now: a table that looks like three boxes.
import { on } from "./device.js";
import { element, faceGlyph, fingerprint, glyph, padlock, replaceChildren, setText } from "./elements.js";
import { part } from "./inspector-part.js";
import { isFace } from "./words.js";

// Of each class there are two keys that come and go together: for items that a backup may hold, and for those that stay on this device.
const classes = [
  { name: "When unlocked", example: "Most passwords.", codes: ["ak", "aku"] },
  { name: "After first unlock", example: "What an app needs in the background.", codes: ["ck", "cku"] },
  { name: "Always", example: "Hardly anything, because nothing guards it.", codes: ["dk", "dku"] },
  { name: "With a passcode set", example: "As when unlocked, but lost with the passcode.", codes: ["akpu"] },
];

const key = () => glyph("class-key", "M12 16a6 6 0 1 1-6-6 6 6 0 0 1 6 6z", "M12 16h16v5", "M22 16v4");
const sensor = (status) => (isFace(status?.biometryType) ? "face" : "finger");

/// What each process has of a class whose key is in this state.
const words = {
  open: () => ({
    enclave: ["class key", "Opens items, one by one."],
    touchstoned: ["metadata key", "Reads names, no values."],
    app: ["", "Gets its own items, if their terms are met."],
  }),
  heldForBiometry: (status) => ({
    enclave: ["put aside", `Comes back with a ${sensor(status)} or the passcode.`], app: ["", "Gets nothing, because it is locked."],
  }),
  sealed: () => ({ enclave: ["sealed", "Only the passcode brings it back."], app: ["", "Gets nothing until the passcode is entered."] }),
  absent: () => ({ enclave: ["none", "There is no passcode."], app: ["", "Can store nothing of this class."] }),
  off: () => ({
    enclave: ["gone", "The process has ended."], touchstoned: ["gone", "The process has ended."], app: ["", "Gets no answer."],
  }),
};
const withoutMetadataKey = ["no key", "Cannot even read names."];

export function showKeys() {
  const state = element("p", { class: "state", testid: "keys-state" });
  const change = element("p", { class: "note", testid: "keys-change", role: "status" });
  const cells = new Map();
  const body = element("tbody", {}, classes.map(({ name, example, codes }) => {
    const row = ["app", "touchstoned", "enclave"].map((process) => {
      const cell = element("td", { class: `of-${process}`, testid: `keys-${process}-${codes[0]}` });
      cells.set(`${process} ${codes[0]}`, cell);
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row" }, name, element("small", {}, example)), row);
  }));
  const head = (process, title, text) => element("th", { scope: "col", class: `of-${process}` }, title, element("small", {}, text));
  const section = part("keys", "Who can open what, now",
    "An item is encrypted under the key of its protection class. The class says when that key is in memory. A lock or a restart takes keys away, and the passcode brings them back.",
    state,
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Keys of each process" },
      element("table", { class: "boxes" },
        element("caption", { class: "unseen" }, "Protection classes, and which keys each process has"),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Protection class"),
          head("app", "Your app", "never has a key"),
          head("touchstoned", "touchstoned", "stores items, encrypted"),
          head("enclave", "Enclave", "keeps the keys, decides"))),
        body)),
    change,
    element("ul", { class: "reasons" },
      element("li", {}, element("strong", {}, "touchstoned can pass items on, but not open them: "),
        "it finds an item by its name and hands its wrapped key to the enclave. The enclave first checks what the item asks for: the finger, the face or the passcode. Only then does it open that one key."),
      element("li", {}, element("strong", {}, "The enclave is a separate process "),
        "without network or database, and no app can talk to it. Somebody who breaks into an app, or even into touchstoned, still has no class key. A passcode is sealed for the enclave where it is typed. The programs in between carry it and cannot read it.")));

  let status = null;
  let keys = null;
  let before = null;

  function draw() {
    const now = new Map();
    for (const { name, codes } of classes) {
      // If the two ever differ, show the state of the key that opens less.
      const found = codes.map((code) => keys?.find(({ protection }) => protection === code));
      const worst = status ? found.find((one) => one && one.state !== "open") ?? found[0] : undefined;
      const kind = !status ? "off" : worst?.state;
      if (!kind) return;
      const has = words[kind](status);
      const hasMetadataKey = kind !== "off" && found.every((one) => one?.hasMetadataKey);
      has.touchstoned = hasMetadataKey ? words.open().touchstoned : has.touchstoned ?? withoutMetadataKey;
      for (const process of ["app", "touchstoned", "enclave"]) {
        const isHeld = process === "touchstoned" ? hasMetadataKey : process === "enclave" ? kind === "open" : kind === "open";
        show(cells.get(`${process} ${codes[0]}`), process, has[process], isHeld, kind);
      }
      now.set(name, { isOpen: kind === "open", hasMetadataKey });
    }
    setText(state, deviceState(status));
    state.dataset.state = !status ? "off" : status.isLocked ? "locked" : "unlocked";
    // What was there at the beginning did not come just now.
    if (before) tellChange(now);
    if (before || status) before = now;
  }

  function show(cell, process, [title, text], isHeld, kind) {
    const shown = `${kind} ${isHeld} ${title} ${text}`;
    if (cell.dataset.shown === shown) return;
    cell.dataset.shown = shown;
    cell.dataset.held = isHeld;
    if (process === "enclave") cell.dataset.state = kind;
    const picture = process === "app" ? null
      : isHeld ? key() : kind === "heldForBiometry" && process === "enclave" ? (isFace(status?.biometryType) ? faceGlyph() : fingerprint())
        : kind === "sealed" && process === "enclave" ? padlock() : null;
    replaceChildren(cell, title ? element("span", { class: "chip" }, picture, title) : null, element("small", {}, text));
  }

  function tellChange(now) {
    const names = (test) => classes.map(({ name }) => name).filter(test).map((name) => `“${name}”`).join(", ");
    const gone = names((name) => before.get(name)?.isOpen && !now.get(name)?.isOpen);
    const back = names((name) => !before.get(name)?.isOpen && now.get(name)?.isOpen);
    if (!gone && !back) return;
    setText(change, [gone && `Just now the keys of ${gone} left.`, back && `Just now the keys of ${back} came.`].filter(Boolean).join(" "));
  }

  on("keys", (reply) => {
    keys = reply.keys;
    draw();
  });
  on("status", (next) => {
    status = next;
    // The entries of the device that went do not belong to the next.
    if (!next) keys = null;
    draw();
  });
  return { section, name: "Keys" };
}

function deviceState(status) {
  if (!status) return "The device is off or starting. Every process has ended, and the keys in its memory are gone.";
  if (!status.isPasscodeSet) return "The device has no passcode. So nothing can be locked, and items that ask for the owner cannot be stored.";
  if (!status.wasUnlockedSinceBoot) return "The device has not been unlocked since it started. The passcode has to bring the keys.";
  if (status.isLocked) return "The device is locked.";
  return "The device is unlocked.";
}
