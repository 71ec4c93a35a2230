// The inspector: what goes on inside the device, in four parts that each update themselves.
import { call, on } from "./device.js";
import { element, keepChildren } from "./elements.js";
import { showItems } from "./inspector-items.js";
import { showKeys } from "./inspector-keys.js";
import { showLog } from "./inspector-log.js";
import { showMessages } from "./inspector-messages.js";
import { isShown } from "./inspector-part.js";
import { isFace, plain, sentence } from "./words.js";

/// - panel: the element to fill.
export function showInspector(panel) {
  const parts = [showKeys(), showMessages(), showItems(), showLog()];
  const hands = bar(parts);
  panel.append(
    element("p", { class: "note introduction" },
      "An app never holds a key, and the program that stores its secrets cannot open them. Three processes share the work, and ",
      "this page shows what passes between them. Lock the device and watch the keys leave. Then use an app, and watch it ask."),
    hands.row, ...parts.map((part) => part.section));
  // A part that asks the device for something does so only while it is looked at.
  new MutationObserver(() => {
    if (!panel.hidden) for (const part of [hands, ...parts]) part.refresh?.();
  }).observe(panel, { attributeFilter: ["hidden"] });
}

/// What is done most while one looks (the rest is under Controls), and the way to the parts.
function bar(parts) {
  const said = element("p", { class: "said", testid: "inspector-said", role: "status" });
  const act = async (method, values = {}, words = () => "") => {
    said.textContent = "";
    try {
      await call(method, values);
      said.textContent = words();
    } catch (error) {
      said.textContent = sentence(error);
    }
  };
  const button = (testid, words, onclick) => element("button", { type: "button", class: "plain", testid, onclick }, words);
  const touches = element("span", { class: "row" });
  const ways = element("nav", { class: "ways", "aria-label": "Parts of the inspector" }, parts.map(({ section, name }) =>
    element("a", { href: `#${section.id}` }, name)));
  const row = element("div", { class: "row hands" }, button("inspector-lock", "Lock", () => act("Device.Lock", {}, () =>
    status?.isPasscodeSet ? "" : "Without a passcode nothing can be locked. In Settings you can set one.")),
    button("inspector-reboot", "Restart", () => act("Device.Reboot")), touches, ways, said);
  let status = null;
  async function refresh() {
    for (const control of row.querySelectorAll("button")) control.disabled = !status;
    if (!status || !isShown(row)) return;
    // The first that is enrolled will do.
    let fingers = [];
    try {
      if (status.isEnrolled) fingers = (await call("Device.ListFingers")).fingers.slice(0, 1);
    } catch {
      // The next status comes when it answers.
    }
    keepChildren(touches, fingers, {
      key: (finger) => finger,
      make: (finger) => button("inspector-touch", `${isFace(status.biometryType) ? "Look as" : "Touch with"} ${plain(finger, 40)}`,
        () => act("Device.PresentFinger", { finger })),
    });
  }
  on("status", (next) => {
    status = next;
    // What was said is of the device before it went.
    if (!next) said.textContent = "";
    refresh();
  });
  return { row, refresh };
}
