// The log that the enclave writes, as it grows.
import { onApps } from "./apps.js";
import { call, on } from "./device.js";
import { element, replaceChildren, setText } from "./elements.js";
import { clock, isShown, part } from "./inspector-part.js";
import { appName, plain } from "./words.js";

const events = {
  "device-started": "The device started", "device-stopped": "The device stopped", "evaluation-began": "The owner was asked",
  "evaluation-ended": "The question to the owner ended", "item-opened": "An item was opened", "key-created": "A private key was made",
  "key-used": "A private key was used", "call-refused": "A call was refused", "biometry-rejected": "A finger or face was not recognised",
  "biometry-locked-out": "Biometry was locked out until the passcode is entered", "passcode-rejected": "A passcode was rejected",
  "passcode-set": "A passcode was set", "passcode-changed": "The passcode was changed", "passcode-removed": "The passcode was removed",
  "erase-data-changed": "Erase Data was changed", locked: "The device was locked", unlocked: "The device was unlocked",
  "biometry-enrolled": "A finger or face was enrolled", "biometry-removed": "A finger or face was removed",
  "permission-decided": "The owner decided whether an app may use Face ID", erased: "The device’s keys were destroyed",
  "backup-authorized": "The owner agreed to a backup", "backup-exported": "Keys went into a backup", "backup-imported": "Keys came from a backup",
  "circle-changed": "The owner changed the circle of devices",
  "items-accepted": "The owner accepted the keychain as it is", "agent-connected": "A program that shows prompts connected",
  "agent-lost": "A program that shows prompts left", "log-interrupted": "Entries could not be written",
  others: "More happened in one second than the log records",
};
// What stands before what was asked.
const purposes = { "item-opened": "wants", "call-refused": "wants", "key-created": "wants", "key-used": "to", "erase-data-changed": "turned", "backup-authorized": "to" };
const asked = {
  biometryAny: "a finger or face", biometryCurrentSet: "a finger or face of this set", presence: "the owner", passcode: "the passcode",
  companion: "a companion device", applicationPassword: "the app’s password", "application-password": "the app’s password",
};
const factors = {
  "touch-id": "a finger", "face-id": "a face", passcode: "the passcode", "application-password": "the app’s password", reuse: "an earlier proof",
};
const results = {
  ok: "done", "not-matched": "not recognised", wrong: "wrong", userCancel: "the owner cancelled", appCancel: "the app cancelled",
  systemCancel: "ended by the device", userFallback: "the owner chose another way", authenticationFailed: "not recognised, too many times",
  biometryLockout: "the passcode is needed first", biometryNotAvailable: "the sensor does not work", biometryNotEnrolled: "nothing is enrolled",
  passcodeNotSet: "there is no passcode", invalidated: "can never be used again", "enrolment-changed": "can never be opened again",
  "wrong-application-password": "wrong app password", "after-crash": "after a crash", "log-cut": "part of the log is missing",
  "state-restored": "from an older copy",
};
/// Lines that are kept, and of which the device is asked whether they are genuine.
const most = 100;
/// What comes within so many milliseconds is looked at together.
const pause = 300;

export function showLog() {
  const chain = element("p", { class: "state", testid: "log-chain" });
  const body = element("tbody");
  const section = part("log", "The log",
    "The enclave writes down every decision about the owner’s secrets. The newest is first here. Each entry carries a seal over itself and the entry before, so that nobody can change, add or remove one unnoticed.",
    chain,
    element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Log" },
      element("table", { class: "rows", testid: "log" },
        element("caption", { class: "unseen" }, "Entries of the log, the newest first"),
        element("thead", {}, element("tr", {}, ["Time", "What happened", "App", "Proven by", "Result", "Entry"].map((words) =>
          element("th", { scope: "col" }, words)))), body)));

  let lines = [];
  let apps = [];
  let timer = null;
  let isThere = false;
  // What the device said of a line.
  const genuine = new Map();

  function draw() {
    const entries = lines.map((line) => ({ line, entry: JSON.parse(line) }));
    replaceChildren(body, entries.toReversed().map(({ line, entry }) => row(entry, genuine.get(line), apps)));
  }

  async function refresh() {
    timer = null;
    if (!isShown(section) || !isThere) return;
    const looked = lines;
    try {
      const unknown = looked.filter((line) => !genuine.has(line));
      // For as long as it was not heard of the newest.
      if (unknown.length) {
        const reply = await call("Device.CheckLog", { lines: unknown });
        unknown.forEach((line, place) => genuine.set(line, reply.genuine[place] === true));
      }
    } catch {
      return setText(chain, "The device does not answer, so nobody can say whether the log is genuine.");
    }
    for (const line of genuine.keys()) if (!lines.includes(line)) genuine.delete(line);
    if (looked !== lines) return;
    const [isWhole, words] = judge(lines.map((line) => JSON.parse(line)), lines.map((line) => genuine.get(line)));
    chain.dataset.state = isWhole ? "whole" : "broken";
    setText(chain, words);
    draw();
  }

  on("status", (status) => {
    const wasThere = isThere;
    isThere = Boolean(status);
    if (isThere && !wasThere) refresh();
  });
  on("log-start", () => {
    lines = [];
    draw();
  });
  on("log", (reply) => {
    lines = [...lines, ...reply.lines].slice(-most);
    draw();
    timer ??= setTimeout(refresh, pause);
  });
  onApps((next) => {
    apps = next;
    draw();
  });
  return { section, name: "Log", refresh };
}

/// [whether the entries are a whole chain, and that in words]
function judge(entries, genuine) {
  if (entries.length === 0) return [true, "No entry yet."];
  const false_ = entries.find((_, place) => genuine[place] === false);
  if (false_) return [false, `Broken: entry ${false_.sequence} is not as the enclave wrote it.`];
  const apart = entries.find((entry, place) =>
    place > 0 && (entry.previous !== entries[place - 1].code || entry.sequence !== entries[place - 1].sequence + 1));
  if (apart) return [false, `Broken: entry ${apart.sequence} does not follow the entry before.`];
  const [first, last] = [entries[0].sequence, entries.at(-1).sequence];
  return [true, first === last ? `Complete: entry ${last} is as the enclave wrote it.`
    : `Complete: entries ${first} to ${last} are as the enclave wrote them, each sealed to the entry before.`];
}

function row(entry, isGenuine, apps) {
  const terms = entry.asked?.split(" ").map((word) => asked[word] ?? word).join(" ");
  const times = entry.count ? `${entry.count} more ${entry.count === 1 ? "time" : "times"}` : null;
  const more = [terms && `${purposes[entry.event] ?? "for"} ${terms}`, entry.by && `from ${appName(entry.by, apps)}`, times].filter(Boolean).join("; ");
  return element("tr", { testid: `log-${entry.sequence}`, "data-event": entry.event },
    element("td", { class: "number" }, clock(new Date(entry.time))),
    element("td", {}, events[entry.event] ?? plain(entry.event, 40), more ? element("small", {}, plain(more, 120)) : null),
    element("td", { class: "foreign of-an-app", title: entry.app ? plain(entry.app, 200) : null }, entry.app ? appName(entry.app, apps) : "–"),
    element("td", {}, (entry.factors ?? []).map((factor) => factors[factor] ?? plain(factor, 40)).join(", ") || "–"),
    element("td", { class: entry.result === "ok" ? null : "is-refused" }, results[entry.result] ?? plain(entry.result, 80)),
    element("td", { class: "number" }, `#${entry.sequence}`,
      element("small", {}, isGenuine === undefined ? "…" : isGenuine ? "genuine" : "not genuine")));
}
