// The hands beside the device: fingers or faces, its keys, its apps, its clock.
import { move, onApps } from "./apps.js";
import { call, on } from "./device.js";
import { element, faceGlyph, fingerprint, keepChildren, setText } from "./elements.js";
import { duration, isFace, plain, sentence } from "./words.js";

const outcomes = {
  matched: "Matched.", notMatched: "Not recognised.", unlocked: "Unlocked.",
  passcodeRequired: "The passcode is required. A finger or face does not help now.", notWaiting: "Nothing was waiting for it.",
};
const restarted = "The device has restarted.";
const steps = [["1 minute", 60], ["1 hour", 3600], ["8 hours", 8 * 3600], ["48 hours", 48 * 3600]];

/// The pads that stand for fingers or faces go to `hands`, below the device, so that they are in sight with every view.
export function showControls(panel, hands) {
  const said = element("p", { class: "said", testid: "outcome", role: "status" });
  const say = (text) => {
    // Cleared first, so that the same words again are read again.
    said.textContent = "";
    said.textContent = text;
  };
  // How many prompts have ended: the prompt's end says what a touch did to it, whichever of the two comes first.
  let ended = 0;
  const act = async (method, values, words = "") => {
    const endedBefore = ended;
    try {
      const reply = await call(method, values);
      if (ended === endedBefore) say(typeof words === "function" ? words(reply) : words);
      return true;
    } catch (error) {
      say(sentence(error));
      return false;
    }
  };
  // A restart that was asked for here: "asked", then "away", then null again.
  let restarting = null;
  const restart = async () => {
    restarting = "asked";
    if (!await act("Device.Reboot", {}, () => (restarting ? "Restarting…" : restarted))) restarting = null;
  };
  const button = (testid, text, onclick, kind = "plain") => element("button", { type: "button", class: kind, testid, onclick }, text);

  // Before the parts say what else cannot be used.
  on("status", (status) => {
    // Not disabled, which would take the focus away from somebody who uses the keyboard.
    for (const control of panel.querySelectorAll("button")) control.setAttribute("aria-disabled", !status);
    for (const pad of hands.querySelectorAll("button")) pad.setAttribute("aria-disabled", !status || Boolean(status.sensor?.problem));
  });
  hands.append(said);
  panel.append(
    sensorControls(button, act, say, hands),
    group("Device", lockControls(button, act, say, restart)),
    group("Apps", appControls(say)),
    group("Clock", clockControls(button, act)));

  // A stream ends and begins again, also where the device was away for too short a time to be missed.
  on("log-end", () => {
    if (restarting) restarting = "away";
    // What was said is of the device before it went.
    else say("");
  });
  on("log-start", () => {
    if (restarting !== "away") return;
    restarting = null;
    say(restarted);
  });
  on("outcome", ({ event, prompt }) => {
    ended += 1;
    say(event === "succeeded" ? `Recognised: ${plain(prompt.app.name, 40)} may go on.` : "The prompt ended.");
  });
}

function group(title, ...content) {
  const id = `group-${title.toLowerCase()}`;
  return element("section", { class: "group", "aria-labelledby": id }, element("h3", { id }, title), ...content);
}

function sensorControls(button, act, say, hands) {
  const title = element("h3", { id: "group-sensor" }, "Sensor");
  const note = element("p", { class: "note" });
  const touches = element("div", { class: "pads", testid: "fingers" });
  const why = element("p", { class: "note", testid: "hands-note" });
  const plug = element("div", { class: "row" }, button("sensor-connection", "Unplug the sensor", connectSensor));
  const section = element("section", { class: "group", "aria-labelledby": "group-sensor" }, title, note, plug);
  hands.append(touches, why);

  let status = null;
  let fingers = [];
  // Whose face is before the device: undefined nobody's, null a stranger's.
  let looking;
  let seen = "";

  const present = (finger) => status?.sensor?.problem ? say(why.textContent) : act("Device.PresentFinger", finger === null ? {} : { finger }, ({ touch }) => outcomes[touch] ?? touch);

  function look(finger) {
    looking = finger;
    draw();
    if (finger !== undefined) present(finger);
  }

  function draw() {
    if (!status) return;
    const face = isFace(status.biometryType);
    const isSimulated = status.sensor?.kind === "simulated";
    setText(title, face ? "Face ID" : status.biometryType ? "Touch ID" : "Sensor");
    setText(note, !status.biometryType ? "This device has no sensor."
      : !isSimulated ? `Its sensor is real: ${plain(status.sensor.name ?? status.sensor.kind, 60)}. Touch it or look at it yourself.`
      : fingers.length === 0 ? `Nothing is enrolled. In Settings you can add a ${face ? "face" : "finger"}.` : "");
    note.hidden = !note.textContent;
    setText(why, isSimulated && status.sensor.problem ? "The sensor is unplugged. Controls can plug it in." : "");
    why.hidden = !why.textContent;
    const choices = !isSimulated ? [] : [
      ...fingers.map((finger) => ({ testid: `finger-${finger}`, words: `${face ? "Look as" : "Touch with"} ${plain(finger, 40)}`, finger })),
      { testid: "finger-nomatch", words: face ? "Look as somebody else" : "Touch with another finger", finger: null },
      ...(face ? [{ testid: "look-away", words: "Look away", finger: undefined }] : []),
    ];
    keepChildren(touches, choices, {
      key: ({ testid }) => testid,
      make: ({ testid, words, finger }) => {
        const kind = finger === null ? "touch is-stranger" : finger === undefined ? "touch is-away" : "touch is-own";
        const made = button(testid, words, () => (face ? look(finger) : present(finger)), kind);
        made.prepend(face ? faceGlyph() : fingerprint());
        return made;
      },
      update: (made, { finger }) => {
        made.setAttribute("aria-disabled", Boolean(status.sensor.problem));
        if (face) made.setAttribute("aria-pressed", looking === finger);
      },
    });
    plug.hidden = !isSimulated;
    setText(plug.firstChild, status.sensor?.problem ? "Plug the sensor in" : "Unplug the sensor");
  }

  async function connectSensor() {
    const isConnected = Boolean(status?.sensor?.problem);
    await act("Device.SetSensorConnected", { isConnected }, isConnected ? "The sensor is plugged in." : "The sensor is unplugged.");
  }

  on("status", async (next) => {
    const before = status;
    status = next;
    if (!next) return;
    try {
      const listed = (await call("Device.ListFingers")).fingers;
      if (JSON.stringify(listed) === JSON.stringify(fingers) && JSON.stringify(before) === JSON.stringify(next)) return;
      fingers = listed;
      if (typeof looking === "string" && !fingers.includes(looking)) looking = undefined;
    } catch {
      // The next status comes when it answers.
    }
    draw();
  });
  // A face before a device with Face ID is seen each time the device looks.
  on("prompt", (prompt) => {
    const state = prompt && prompt.phase === "biometry" ? `${prompt.identifier} ${prompt.failures}` : "";
    if (state && state !== seen && isFace(prompt.biometryType) && looking !== undefined) present(looking);
    seen = state;
  });
  return section;
}

function lockControls(button, act, say, restart) {
  const why = element("p", { class: "note", id: "lock-note", testid: "lock-note" });
  let isPossible = true;
  const lock = (values, words) => (isPossible ? act("Device.Lock", values, words) : say(why.textContent));
  const locks = [
    button("lock", "Lock", () => lock({}, "Locked.")),
    button("lock-passcode", "Lock, passcode only", () => lock({ requiresPasscode: true }, "Locked. Only the passcode unlocks it.")),
  ];
  on("status", (status) => {
    if (!status) return;
    isPossible = status.isPasscodeSet;
    setText(why, isPossible ? "" : "A device without a passcode cannot be locked. Settings can set one.");
    why.hidden = isPossible;
    for (const each of locks) {
      each.setAttribute("aria-disabled", !isPossible);
      each.setAttribute("aria-describedby", "lock-note");
    }
  });
  return element("div", {}, element("div", { class: "row" }, locks, button("reboot", "Restart", restart)), why);
}

function appControls(say) {
  const none = element("p", { class: "note" }, "No app has asked for anything yet.");
  const list = element("ul", { class: "list", testid: "apps" });
  const send = (identifier, state) => move(identifier, state).catch((error) => say(sentence(error)));
  onApps((apps) => {
    none.hidden = apps.length > 0;
    keepChildren(list, apps, {
      key: ({ identifier }) => identifier,
      make: ({ identifier }) => element("li", { testid: `app-${identifier}` },
        element("span", { class: "foreign" }, element("span"), element("small", {}, plain(identifier, 120))),
        element("button", { type: "button", class: "plain", testid: `move-${identifier}` })),
      update: (item, { identifier, name, isBackground }) => {
        // The device tells its name with its first prompt.
        setText(item.querySelector("span > span"), plain(name, 40));
        const move = item.querySelector("button");
        setText(move, isBackground ? "Bring to front" : "Send to background");
        move.onclick = () => send(identifier, isBackground ? "foreground" : "background");
      },
    });
  });
  return element("div", {}, none, list);
}

function clockControls(button, act) {
  const ahead = element("p", { class: "note", testid: "clock-ahead" });
  on("status", (status) => {
    if (!status) return;
    setText(ahead, status.clockAheadSeconds ? `The device’s clock is ${duration(status.clockAheadSeconds)} ahead of this machine’s. A restart sets it back.` : "");
    ahead.hidden = !ahead.textContent;
  });
  return element("div", {}, ahead, element("div", { class: "row" },
    steps.map(([words, seconds]) => button(`clock-${seconds}`, `+ ${words}`, () =>
      act("Device.AdvanceClock", { seconds }, `The device’s clock moved on by ${words}.`)))));
}
