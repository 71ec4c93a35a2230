// Settings: the passcode, the enrolled fingers, the apps that may use Face ID. As on a phone, they first ask for the passcode.
import { call, enter, on } from "./device.js";
import { element, replaceChildren } from "./elements.js";
import { biometryNames, isFace, passcodeKinds, plain, sentence } from "./words.js";

const bytes = (text) => new TextEncoder().encode(text);

export function showSettings(panel) {
  const said = element("p", { class: "said", testid: "settings-message", role: "status" });
  const gate = element("div", { testid: "settings-gate" });
  const inside = element("div", { class: "inside" });
  panel.append(said, gate, inside);

  let status = null;
  // The passcode was entered here and the device has not been locked since.
  let isOpen = false;
  let fingers = [];
  let permissions = [];
  let shown = "";

  const say = (text) => {
    said.textContent = "";
    said.textContent = text;
  };
  const attempt = async (action, words) => {
    let told = words;
    try {
      await action();
    } catch (error) {
      told = sentence(error);
    }
    // Said last, when everything is in its new place and nothing is busy.
    await refresh();
    say(told);
    return told === words;
  };

  on("status", (next) => {
    status = next;
    if (!next || next.isLocked) isOpen = false;
    refresh();
  });
  // After leaving the settings, the owner is asked again.
  new MutationObserver(() => {
    if (!panel.hidden) return refresh();
    isOpen = false;
    say("");
    shown = "";
    replaceChildren(inside);
  }).observe(panel, { attributeFilter: ["hidden"] });

  async function refresh() {
    if (panel.hidden) return;
    if (status) {
      try {
        fingers = (await call("Device.ListFingers")).fingers;
        permissions = isFace(status.biometryType) ? (await call("Device.ListFaceIDPermissions")).permissions : [];
      } catch {
        // The next status comes when it answers.
      }
    }
    const { isPasscodeSet, isLocked, erasesData, biometryType, isPasscodeDisabled } = status ?? {};
    const next = JSON.stringify([Boolean(status), isOpen, isPasscodeSet, isLocked, erasesData, biometryType, isPasscodeDisabled, fingers, permissions]);
    // Only what changed is drawn again: what is half typed stays.
    if (next !== shown) draw();
    shown = next;
  }

  function draw() {
    const focused = panel.contains(document.activeElement) ? document.activeElement.dataset.testid : null;
    const isShut = !status || status.isLocked || (status.isPasscodeSet && !isOpen);
    replaceChildren(gate, isShut ? door() : null);
    replaceChildren(inside, isShut ? [] : [passcodeSection(), biometrySection(), permissionSection(), eraseSection()].filter(Boolean));
    // What had the focus may have been drawn again, or be gone.
    if (focused && !panel.contains(document.activeElement)) {
      const again = panel.querySelector(`[data-testid="${CSS.escape(focused)}"]`);
      (again?.offsetParent ? again : panel.querySelector("button, input, summary"))?.focus();
    }
  }

  function door() {
    if (!status) return element("p", { class: "note" }, "The device does not answer.");
    if (status.isLocked) return element("p", { class: "note", testid: "settings-locked" }, "The device is locked. Unlock it first.");
    if (status.isPasscodeDisabled) return element("p", { class: "note" }, "After ten wrong passcodes the device is erased at its next restart.");
    const passcode = secret("settings-passcode", "Passcode", status.passcodeKind);
    return form("settings-open", "Enter the passcode to change settings", "Open Settings", [passcode], async () => {
      await attempt(async () => {
        await enter("unlock", bytes(take(passcode)));
        isOpen = true;
      }, "");
    });
  }

  function passcodeSection() {
    if (!status.isPasscodeSet) {
      const kind = kindChoice();
      const [first, again] = [secret("passcode-new", "New passcode"), secret("passcode-again", "The new passcode again")];
      return section("Passcode", form("passcode-set", null, "Turn Passcode On", [kind.label, first, again], () =>
        change(null, first, again, kind.value(), "The passcode is set.")));
    }
    const kind = kindChoice();
    const [old, first, again] = [
      secret("passcode-old", "Current passcode", status.passcodeKind), secret("passcode-new", "New passcode"),
      secret("passcode-again", "The new passcode again"),
    ];
    const removed = secret("passcode-remove", "Current passcode", status.passcodeKind);
    return section("Passcode",
      fold("Change Passcode", "fold-change", form("passcode-change", null, "Change Passcode", [old, kind.label, first, again], () =>
        change(old, first, again, kind.value(), "The passcode is changed."))),
      fold("Turn Passcode Off", "fold-remove",
        element("p", { class: "note" }, "Items that require a passcode to be set are lost for good. Fingers and faces do not count until there is a passcode again."),
        form("passcode-off", null, "Turn Passcode Off", [removed], () =>
          attempt(() => enter("change?kind=alphanumeric", bytes(take(removed)), new Uint8Array()), "The passcode is off."))));
  }

  async function change(old, first, again, kind, words) {
    const [current, one, other] = [old ? take(old) : "", take(first), take(again)];
    if (one !== other) return say("The new passcodes differ. Nothing changed.");
    if (!one) return say("A new passcode is needed.");
    await attempt(() => enter(`change?kind=${kind}`, bytes(current), bytes(one)), words);
  }

  function biometrySection() {
    if (!status.biometryType) return null;
    const face = isFace(status.biometryType);
    const thing = face ? "face" : "finger";
    if (status.sensor.kind !== "simulated") {
      return section(biometryNames[status.biometryType],
        element("p", { class: "note", testid: "enrolled-elsewhere" },
          `${plain(status.sensor.name ?? status.sensor.kind, 60)} keeps the enrolled fingers. Use its own programs to add and remove them.`));
    }
    const name = text("finger-name", `Name of the new ${thing}`, face ? "my face" : "right-index");
    return section(biometryNames[status.biometryType],
      element("ul", { class: "list", testid: "enrolled" }, fingers.length === 0
        ? element("li", { class: "note" }, "Nothing is enrolled.")
        : fingers.map((finger) => element("li", { testid: `enrolled-${finger}` }, element("span", { class: "foreign" }, plain(finger, 64)),
          element("button", {
            type: "button", class: "plain danger", testid: `remove-${finger}`, "aria-label": `Remove ${plain(finger, 64)}`,
            onclick: () => attempt(() => call("Device.RemoveFinger", { finger }), `${plain(finger, 40)} is removed.`),
          }, "Remove")))),
      status.isPasscodeSet
        ? form("enroll", null, `Add ${face ? "Face" : "Finger"}`, [name], () => {
          const value = name.querySelector("input").value.trim();
          if (!value) return say(`Give the ${thing} a name.`);
          return attempt(() => call("Device.Enroll", { finger: value }), `${plain(value, 40)} is added.`);
        })
        : element("p", { class: "note", testid: "enroll-needs-passcode" }, `Set a passcode first: without one no ${thing} can be added.`));
  }

  function permissionSection() {
    if (!isFace(status.biometryType)) return null;
    return section("Apps that may use Face ID", element("ul", { class: "list", testid: "permissions" }, permissions.length === 0
      ? element("li", { class: "note" }, "No app has asked yet.")
      : permissions.map(({ app, isAllowed }) => element("li", { testid: `permission-${app}` }, element("span", { class: "foreign" }, plain(app, 120)),
        toggle(`permission-switch-${app}`, `Face ID for ${plain(app, 120)}`, isAllowed, () =>
          attempt(() => call("Device.SetFaceIDPermission", { app, isAllowed: !isAllowed }), isAllowed ? "Denied." : "Allowed.")),
        element("button", {
          type: "button", class: "plain", testid: `permission-forget-${app}`,
          onclick: () => attempt(() => call("Device.SetFaceIDPermission", { app }), "Forgotten. The owner is asked again when the app next wants to use it."),
        }, "Ask again")))));
  }

  function eraseSection() {
    if (!status.isPasscodeSet) return null;
    const passcode = secret("erase-passcode", "Passcode", status.passcodeKind);
    const words = status.erasesData ? "Turn Erase Data Off" : "Turn Erase Data On";
    return section("Erase Data",
      element("p", { class: "note", testid: "erase-state" }, status.erasesData
        ? "On: the tenth wrong passcode in a row erases this device."
        : "Off: each wrong passcode from the ninth in a row on costs eight hours."),
      fold(words, "fold-erase", form("erase-data", null, words, [passcode], () =>
        attempt(() => enter(`erase-data?isOn=${!status.erasesData}`, bytes(take(passcode))),
          status.erasesData ? "Erase Data is off." : "Erase Data is on."))));
  }
}

function section(title, ...content) {
  const id = `settings-${title.toLowerCase().replaceAll(" ", "-")}`;
  return element("section", { class: "group", "aria-labelledby": id }, element("h3", { id }, title), ...content);
}

function fold(title, testid, ...content) {
  return element("details", { class: "fold", testid }, element("summary", {}, title), ...content);
}

function form(testid, title, action, fields, submitted) {
  const made = element("form", {
    class: "form", testid, autocomplete: "off", onsubmit: async (event) => {
      event.preventDefault();
      const button = made.querySelector("button");
      if (button.getAttribute("aria-disabled") === "true") return;
      // Not disabled, which would take the focus away from somebody who uses the keyboard.
      button.setAttribute("aria-disabled", true);
      await submitted();
      button.removeAttribute("aria-disabled");
    },
  }, title ? element("p", { class: "form-title" }, title) : null, ...fields,
  element("button", { class: "primary", testid: `${testid}-submit` }, action));
  return made;
}

function field(testid, label, attributes) {
  return element("label", { class: "field" }, element("span", {}, label), element("input", { testid, autocapitalize: "off", spellcheck: "false", ...attributes }));
}

function secret(testid, label, kind = "alphanumeric") {
  return field(testid, label, {
    type: "password", autocomplete: "off", maxlength: "256", inputmode: kind && kind !== "alphanumeric" ? "numeric" : null,
  });
}

const text = (testid, label, example) => field(testid, label, { type: "text", autocomplete: "off", maxlength: "64", placeholder: example });

/// What was typed; the field is empty afterwards.
function take(label) {
  const input = label.querySelector("input");
  const typed = input.value;
  input.value = "";
  return typed;
}

function kindChoice() {
  const choice = element("select", { testid: "passcode-kind" }, Object.entries(passcodeKinds).map(([kind, words]) => element("option", { value: kind }, words)));
  return { label: element("label", { class: "field" }, element("span", {}, "Made of"), choice), value: () => choice.value };
}

function toggle(testid, label, isOn, onclick) {
  return element("button", { type: "button", class: "switch", role: "switch", "aria-checked": String(isOn), "aria-label": label, testid, onclick });
}
