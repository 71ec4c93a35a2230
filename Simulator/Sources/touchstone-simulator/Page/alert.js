// The system alert: what the device asks its owner, and what the owner answers.
import { call, enter, on } from "./device.js";
import { element, faceGlyph, fingerprint, padlock, replaceChildren, setText } from "./elements.js";
import { PasscodeEntry } from "./passcode-pad.js";
import { isFace, plain, quoted, sentence } from "./words.js";

/// What is typed or pressed in the first moment of a prompt that replaced another was meant for the other one.
const restMilliseconds = 1000;

const operations = [
  "create an item", "use an item", "create a key", "sign with a key", "decrypt with a key", "agree on a secret with a key",
];
/// What a bridge's facts are, where the name is not yet the word (ND-5).
const factKinds = { hostKey: "host key" };
const evidences = {
  flatpak: "a Flatpak app", snap: "a Snap app", systemdUnit: "a systemd unit", executable: "the program at this path",
  process: "this process",
};

/// A long path without its middle: where it begins, and the program's own name.
function middle(text, length = 34) {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, 10).join("")}…${characters.slice(11 - length).join("")}`;
}

/// What a real sensor asks of the owner.
const hints = {
  scanAgain: "Not read. Touch the sensor once more.", swipeTooShort: "Too short. Swipe the whole finger.",
  swipeTooFast: "Too fast. Swipe slower.", fingerNotCentered: "Not centred. Move the finger to the middle of the sensor.",
  removeAndRetry: "Take the finger off the sensor, then touch it once more.",
  readerBusy: "The fingerprint reader is in use by another program. It will be asked again.",
  readerFailed: "The sensor does not work. It is being tried again.",
};

/// Puts the alert into `screen`, above `behind`, which cannot be reached while the alert is shown.
export function showAlerts(screen, behind) {
  let prompt = null;
  let cameFrom = null;
  // The prompt that was answered here last, when one last went that was not, and until when its successor takes nothing.
  let answered = null;
  let wentAt = -Infinity;
  let restsUntil = 0;
  let restTimer = null;

  const glyph = element("div", { class: "alert-glyph", testid: "alert-glyph" });
  const title = element("h2", { id: "alert-title", testid: "alert-title" });
  const explanation = element("p", { class: "alert-explanation", testid: "alert-explanation" });
  const identifier = element("span", { class: "foreign", testid: "alert-app" });
  const evidence = element("span", { testid: "alert-evidence" });
  const verified = element("span", { class: "caption", testid: "alert-verified" });
  const origin = element("p", { class: "alert-origin", testid: "alert-origin" });
  const bridge = element("p", { class: "alert-origin", testid: "alert-bridge" });
  const facts = element("ul", { class: "alert-facts", testid: "alert-facts" });
  const reason = element("blockquote", { class: "foreign", testid: "alert-reason" });
  const claim = element("div", { class: "alert-claim" }, element("p", { class: "caption" }, "The app says"), reason);
  const path = element("span", { class: "foreign", testid: "alert-path" });
  const more = element("div", { hidden: true }, element("p", { class: "alert-app" }, path, " (", evidence, ")"), bridge, facts);
  // A warning is never behind it.
  const details = element("details", {
    class: "alert-details", testid: "alert-details", ontoggle: () => { more.hidden = !details.open; },
  }, element("summary", {}, "Details"), more);
  const body = element("div", { id: "alert-body" }, explanation, claim, element("p", { class: "alert-app" }, verified, identifier), origin);
  const message = element("p", { class: "alert-message", testid: "alert-message", role: "status" });
  const entry = new PasscodeEntry({ label: "Passcode", submitted: submit });
  const button = (testid, kind, onclick) => element("button", { type: "button", class: kind, testid, onclick });
  const allow = button("alert-allow", "primary", () => answer("AnswerPermission", { isAllowed: true }));
  const deny = button("alert-deny", "plain", () => answer("AnswerPermission", { isAllowed: false }));
  const retry = button("alert-retry", "primary", () => answer("TryAgain"));
  const fallback = button("alert-fallback", "plain", () => answer("ChooseFallback"));
  const cancel = button("alert-cancel", "plain", () => answer("Cancel"));
  setText(allow, "Allow");
  setText(deny, "Don’t Allow");

  const dialog = element(
    "div", {
      class: "alert", testid: "alert", role: "alertdialog", "aria-labelledby": "alert-title", "aria-describedby": "alert-body alert-keys",
      tabindex: "-1", hidden: true, onkeydown: keyDown,
    },
    glyph, title,
    body,
    details,
    message, entry.element,
    element("div", { class: "alert-buttons" }, allow, retry, fallback, deny, cancel),
    element("p", { id: "alert-keys", class: "unseen" }, "F6 moves between the alert and the fingers. Escape cancels."));

  const indicator = element("div", { class: "indicator", testid: "face-indicator", role: "status", hidden: true }, faceGlyph(),
    element("span", { class: "unseen", testid: "face-indicator-text" }));
  const shade = element("div", { class: "shade", hidden: true }, dialog);
  screen.append(shade, indicator);

  on("prompt", (shown) => (shown ? show(shown) : takeDown()));

  document.addEventListener("keydown", (event) => {
    if (event.key !== "F6" || dialog.hidden) return;
    event.preventDefault();
    if (dialog.contains(document.activeElement)) (document.querySelector('[data-testid="fingers"] button') ?? document.querySelector('[role="tab"][aria-selected="true"]'))?.focus();
    else focusAlert();
  });

  function show(shown) {
    const isNew = prompt?.identifier !== shown.identifier;
    const phaseBefore = isNew ? null : prompt.phase;
    // What is typed in a field of the page is meant for that field, not for the alert that appears over it.
    const mayBeTyping = prompt !== null || performance.now() - wentAt < restMilliseconds || document.activeElement?.matches("input");
    // The answered prompt asks another question now, so its successor can surprise the owner again.
    if (!isNew) answered = null;
    prompt = shown;
    // A bridge asks for a client, which is shown in its place (ND-1).
    const asker = shown.client ?? shown.app;
    const app = quoted(asker.name, 40);
    const sensor = isFace(shown.biometryType) ? "Face ID" : "Touch ID";
    const isIndicator = shown.phase === "biometry" && isFace(shown.biometryType);
    const isEntry = ["passcode", "applicationPassword", "unlock"].includes(shown.phase);

    replaceChildren(glyph, isEntry ? padlock() : isFace(shown.biometryType) ? faceGlyph() : fingerprint());
    setText(title, {
      permission: `Do you want to allow ${app} to use ${sensor}?`,
      biometry: `${sensor} for ${app}`,
      retry: "Face Not Recognised",
      fallback: isFace(shown.biometryType) ? "Face Not Recognised" : "Touch ID Not Recognised",
      passcode: `Enter the device’s passcode for ${app}`,
      applicationPassword: `Enter the password of ${app}`,
      unlock: `Unlock the device for ${app}`,
    }[shown.phase]);
    setText(explanation, {
      permission: "The device keeps your answer. Settings can change it.",
      retry: `${sensor} for ${app} can look once more.`,
      fallback: `${sensor} has stopped for ${app}.`,
      applicationPassword: "This is the app’s own password, not the device’s passcode.",
    }[shown.phase] ?? "");
    explanation.hidden = !explanation.textContent;
    setText(identifier, middle(plain(asker.identifier, 120)));
    setText(path, plain(asker.identifier, 120));
    // A path alone proves little, so it is not called verified.
    setText(verified, asker.evidence === "executable" ? "" : "Verified: ");
    if (isNew) details.open = false;
    setText(evidence, evidences[asker.evidence] ?? "unknown");
    setText(origin, originWords(shown.origin));
    origin.hidden = !origin.textContent;
    origin.classList.toggle("is-warning", shown.origin?.place === "remote");
    // What came over a network stands with the question itself.
    if (shown.origin?.place === "remote") body.append(origin);
    else path.parentElement.after(origin);
    setText(bridge, shown.client ? `Through ${quoted(shown.app.name, 40)}, ${plain(shown.app.identifier, 120)}.` : "");
    bridge.hidden = !shown.client;
    replaceChildren(facts, ...(shown.facts ?? []).map(({ kind, text }) =>
      element("li", {}, `The bridge says: ${factKinds[kind] ?? kind} ${quoted(text, 256)}`)));
    facts.hidden = !shown.facts?.length;
    const claims = claimWords(shown);
    setText(reason, claims);
    claim.hidden = !claims;
    const wrong = shown.wrongPasscode
      ? (shown.phase === "applicationPassword" ? "Wrong password." : "Wrong passcode.") : "";
    setText(message, shown.phase !== "biometry" ? "" : hints[shown.hint] ?? (shown.failures > 0 ? "Not recognised. Try again." : ""));

    entry.element.hidden = !isEntry;
    if (isEntry) {
      entry.show({
        kind: shown.phase === "applicationPassword" ? null : shown.passcodeKind ?? "alphanumeric", message: wrong,
        label: shown.phase === "applicationPassword" ? "Password" : "Passcode",
        retryAfterSeconds: shown.retryAfterSeconds,
      });
    }
    if (isNew) entry.clear();
    if (isNew && mayBeTyping) rest();

    allow.hidden = deny.hidden = shown.phase !== "permission";
    retry.hidden = shown.phase !== "retry";
    setText(retry, `Try ${sensor} Again`);
    fallback.hidden = !shown.fallbackTitle || !["biometry", "fallback"].includes(shown.phase);
    setText(fallback, plain(shown.fallbackTitle, 60));
    cancel.hidden = shown.phase === "permission";
    setText(cancel, plain(shown.cancelTitle, 60));

    setText(indicator.querySelector("[data-testid]"), isIndicator ? `Face ID is looking, for ${app}.` : "");
    indicator.hidden = !isIndicator;
    dialog.dataset.phase = shown.phase;
    dialog.dataset.prompt = shown.identifier;
    dialog.dataset.failures = shown.failures;
    if (shown.wrongPasscode || shown.failures > 0) shake();
    setUp(!isIndicator, isNew || phaseBefore !== shown.phase);
  }

  function takeDown() {
    if (prompt && prompt.identifier !== answered) wentAt = performance.now();
    prompt = null;
    entry.clear();
    indicator.hidden = true;
    setUp(false);
  }

  function rest() {
    restsUntil = performance.now() + restMilliseconds;
    entry.rest(restMilliseconds);
    const buttons = [allow, deny, retry, fallback];
    for (const button of buttons) button.setAttribute("aria-disabled", true);
    // One pause after another: the end of the earlier one does not end both.
    clearTimeout(restTimer);
    restTimer = setTimeout(() => {
      for (const button of buttons) button.removeAttribute("aria-disabled");
    }, restMilliseconds);
  }

  function setUp(isUp, isOther = false) {
    const wasUp = !dialog.hidden;
    const hadFocus = dialog.contains(document.activeElement);
    if (isUp && !wasUp) cameFrom = document.activeElement;
    dialog.hidden = shade.hidden = !isUp;
    behind.inert = isUp;
    if (isUp && (!wasUp || (isOther && (hadFocus || document.activeElement === document.body)))) focusAlert();
    if (!isUp && wasUp && (hadFocus || document.activeElement === document.body)) cameFrom?.focus?.();
  }

  function focusAlert() {
    if (!entry.element.hidden) entry.focus();
    else dialog.focus();
  }

  function shake() {
    dialog.classList.remove("is-shaking");
    // Read, so that the animation restarts.
    void dialog.offsetWidth;
    dialog.classList.add("is-shaking");
  }

  function keyDown(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      if (!cancel.hidden) cancel.click();
      return;
    }
    if (event.key !== "Tab") return;
    const stops = [...dialog.querySelectorAll("summary, button, input")].filter((stop) => !stop.disabled && stop.offsetParent);
    if (stops.length === 0) return event.preventDefault();
    const [first, last] = [stops[0], stops.at(-1)];
    const active = document.activeElement;
    if (event.shiftKey && (active === first || active === dialog)) {
      event.preventDefault();
      last.focus();
    } else if (!event.shiftKey && active === last) {
      event.preventDefault();
      first.focus();
    }
  }

  async function answer(method, values = {}) {
    const asked = prompt;
    if (!asked || (method !== "Cancel" && performance.now() < restsUntil)) return;
    answered = asked.identifier;
    try {
      await call(`Agent.${method}`, { prompt: asked.identifier, ...values });
    } catch (error) {
      // Another tab may have answered, or the app may have given up; the event gives the result.
      if (error.error !== "io.touchstone.Agent.NoSuchPrompt") setText(message, sentence(error));
    }
  }

  async function submit(typed) {
    if (!prompt) return;
    answered = prompt.identifier;
    try {
      const use = prompt.phase === "unlock"
        ? "unlock" : `prompt?prompt=${encodeURIComponent(prompt.identifier)}&phase=${prompt.phase}`;
      await enter(use, typed);
    } catch (error) {
      if (error.error !== "io.touchstone.Agent.NoSuchPrompt") entry.message = sentence(error);
    }
  }
}

function claimWords({ reason, operation, keyLabel, items }) {
  const wants = items?.count > 1 ? `use ${items.count} items` : operations[operation];
  const names = keyLabel ? [keyLabel] : items?.names ?? [];
  const key = names.length ? ` ${names.map((name) => quoted(name, 100)).join(", ")}${items?.count > names.length ? " …" : ""}` : "";
  return [reason ? quoted(reason, 256) : null, wants ? `It wants to ${wants}${key}.` : null].filter(Boolean).join(" ");
}

function originWords(origin) {
  if (!origin) return "";
  const starter = origin.ancestors.find(({ executable }) => executable)?.executable;
  return [
    origin.place === "remote" ? `Remote (${plain(origin.remote ?? "another machine", 60)}).` : null,
    starter ? `Started by ${plain(starter, 80)}${origin.terminal ? `, terminal ${plain(origin.terminal, 20)}` : ""}.` : null,
  ].filter(Boolean).join(" ");
}
