// The device's face: its lock screen and home screen, or dark while it does not answer.
import { showAlerts } from "./alert.js";
import { onPane } from "./app-pane.js";
import { move, onApps } from "./apps.js";
import { enter, on } from "./device.js";
import { element, faceGlyph, fingerprint, keepChildren, padlock, replaceChildren, setText } from "./elements.js";
import { PasscodeEntry } from "./passcode-pad.js";
import { isFace, plain, sentence } from "./words.js";

export function showFace(screen) {
  const statusTime = element("span", { class: "status-time" });
  const lock = lockScreen();
  const home = homeScreen();
  const dark = element("div", { class: "dark", testid: "dark-screen" },
    element("div", { class: "spinner" }), element("p", {}, "Starting…"));
  const behind = element("div", { class: "behind" },
    element("div", { class: "status-bar", "aria-hidden": "true" }, statusTime), dark, lock.element, home.element);
  screen.append(behind);
  showAlerts(screen, behind);

  on("status", (status) => {
    screen.dataset.state = !status ? "dark" : status.isLocked ? "locked" : "home";
    dark.hidden = Boolean(status);
    lock.element.hidden = !status?.isLocked;
    home.element.hidden = !status || status.isLocked;
    if (status) {
      lock.show(status);
      home.show(status);
    }
  });

  const clocks = [...behind.querySelectorAll(".time"), statusTime];
  // The device's clock, which its owner may have moved on.
  let ahead = 0;
  const tick = () => {
    const now = new Date(Date.now() + ahead * 1000);
    for (const clock of clocks) setText(clock, now.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }));
    setText(behind.querySelector(".date"), now.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" }));
  };
  tick();
  setInterval(tick, 1000);
  on("status", (status) => {
    if (!status) return;
    ahead = status.clockAheadSeconds ?? 0;
    tick();
  });
}

function lockScreen() {
  const hint = element("p", { class: "hint", testid: "lock-hint", role: "status" });
  const sensor = element("div", { class: "lock-sensor" });
  let asksForPasscode = false;
  let status = null;

  const entry = new PasscodeEntry({
    label: "Passcode to unlock", submitted: async (typed) => {
      try {
        await enter("unlock", typed);
        asksForPasscode = false;
      } catch (error) {
        // The pad accepts nothing during a wait, and counts it down: the rejected passcode was wrong.
        const isWrong = error.error === "io.touchstone.Device.PasscodeRejected" && !error.parameters.isErased;
        entry.message = isWrong ? "Wrong passcode." : sentence(error);
      }
    },
  });
  const ask = element("button", {
    type: "button", class: "plain", testid: "lock-enter-passcode", onclick: () => {
      asksForPasscode = true;
      show(status);
      entry.focus();
    },
  }, "Enter Passcode");
  const screen = element("div", { class: "lock-screen", testid: "lock-screen" },
    padlock(), element("p", { class: "time" }), element("p", { class: "date" }), hint, sensor, ask, entry.element);

  let wasLocked = false;

  function show(next) {
    status = next;
    if (!status.isLocked) {
      if (wasLocked) entry.clear();
      asksForPasscode = wasLocked = false;
      return;
    }
    wasLocked = true;
    const needsPasscode = !status.isEnrolled || status.sensor?.problem || !status.wasUnlockedSinceBoot || status.isBiometryLockedOut;
    setText(hint, lockHint(status));
    const isSensing = !needsPasscode && !status.isPasscodeDisabled;
    replaceChildren(sensor, isSensing ? (isFace(status.biometryType) ? faceGlyph() : fingerprint()) : null);
    const isAsking = (asksForPasscode || needsPasscode) && !status.isPasscodeDisabled;
    ask.hidden = isAsking || status.isPasscodeDisabled;
    entry.element.hidden = !isAsking;
    if (isAsking) {
      entry.show({
        kind: status.passcodeKind ?? "alphanumeric", retryAfterSeconds: status.passcodeRetryAfterSeconds, message: entry.text,
      });
    }
  }

  return { element: screen, show };
}

function lockHint(status) {
  const sensor = isFace(status.biometryType) ? "Face ID" : "Touch ID";
  if (status.isPasscodeDisabled) return "Device unavailable: after ten wrong passcodes it is erased at its next restart.";
  if (!status.isEnrolled || status.sensor?.problem) return "Enter the passcode.";
  if (!status.wasUnlockedSinceBoot) return `${sensor} requires your passcode when the device restarts.`;
  if (status.isBiometryLockedOut) return `Your passcode is required to enable ${sensor}.`;
  return isFace(status.biometryType) ? "Look at the device, or enter the passcode." : "Touch the sensor, or enter the passcode.";
}

function homeScreen() {
  const grid = element("div", { class: "apps", testid: "home-apps" });
  const note = element("p", { class: "home-note", testid: "home-note" });
  const settings = icon("Settings", "settings", "⚙", () => document.getElementById("tab-settings").click());
  const screen = element("div", { class: "home-screen", testid: "home-screen" }, note, grid);
  let known = [];
  let pane = null;
  // The app beside the device has an icon before the device knows it.
  const isNamed = (app) => pane && app.name === pane.name;
  const opened = (identifier) => {
    if (!identifier || known.some((app) => app.identifier === identifier && isNamed(app))) pane.open();
  };
  const draw = () => keepChildren(grid, [null, ...(pane && !known.some(isNamed) ? [{ identifier: "", name: pane.name }] : []), ...known.slice(-11)], {
    key: (app) => app?.identifier ?? "settings",
    make: (app) => (app ? appIcon(app, () => opened(app.identifier)) : settings),
    update: (made, app) => {
      made.classList.toggle("is-background", app?.isBackground ?? false);
      if (!app) return;
      if (app.identifier) made.title = `${plain(app.identifier)}, in the ${app.isBackground ? "background" : "foreground"}`;
      const name = plain(app.name, 24);
      setText(made.querySelector(".app-name"), name);
      setText(made.querySelector(".app-picture"), [...name][0]?.toUpperCase() ?? "?");
    },
  });
  onApps((apps) => {
    known = apps;
    draw();
  });
  onPane((shown) => {
    pane = shown;
    draw();
  });
  return {
    element: screen,
    show(status) {
      setText(note, status.wasErased ? "This device was erased. It has no passcode, and nothing is enrolled."
        : !status.isPasscodeSet ? "This device has no passcode yet: Settings can set one."
        : status.biometryType && !status.isEnrolled ? `Nothing is enrolled yet: Settings can add a ${isFace(status.biometryType) ? "face" : "finger"}.`
        : "");
      note.hidden = !note.textContent;
    },
  };
}

/// opened: after the app was brought to the front.
function appIcon({ identifier }, opened) {
  const made = icon("", identifier ? `app-${identifier}` : "pane", "", () => {
    if (identifier) move(identifier, "foreground").catch(() => {});
    opened();
  });
  made.style.setProperty("--hue", [...identifier].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7));
  return made;
}

function icon(name, testid, letter, onclick) {
  return element("button", { type: "button", class: "app-icon", testid: `home-${testid}`, onclick },
    element("span", { class: "app-picture", "aria-hidden": "true" }, letter), element("span", { class: "app-name" }, name));
}
