// What the keychain holds, and what of it could be opened at this moment.
import { onApps } from "./apps.js";
import { call, on } from "./device.js";
import { element, replaceChildren, setText } from "./elements.js";
import { isShown, part, size } from "./inspector-part.js";
import { appName, plain, sentence } from "./words.js";

const kinds = { genp: "Password", inet: "Internet password", cert: "Certificate", keys: "Key" };
const protections = {
  ak: "When unlocked", ck: "After first unlock", dk: "Always", aku: "When unlocked", cku: "After first unlock", dku: "Always",
  akpu: "With a passcode set",
};
const proofs = [
  [0, "a finger, face or the passcode"], [1, "any enrolled finger or face"], [3, "a finger or face enrolled when it was stored"],
  [4, "the passcode"], [5, "a companion device"], [31, "the app’s own password"],
];
const has = (flags, bit) => Math.floor(flags / 2 ** bit) % 2 === 1;
const obstacles = {
  "-5": "there is no passcode", "-6": "the sensor does not work", "-7": "nothing is enrolled",
  "-8": "the passcode has to be entered first", "-11": "there is no companion device",
};
/// Most items that are shown.
const most = 500;
/// Milliseconds between one look and the next.
const pace = 150;

export function showItems() {
  const count = element("p", { class: "note", testid: "items-count" });
  const table = element("table", { class: "rows", testid: "items" });
  const section = part("items", "What the keychain holds",
    "Every row is ciphertext on the disk. Its name and its contents never reach this page. The enclave says whether it could be opened now, without opening it.",
    count,
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Items" }, table));

  let items = [];
  let isWhole = true;
  let status = null;
  let apps = [];
  let isLoading = false;
  let isOld = false;
  let failure = null;
  let shown = "";

  async function refresh() {
    if (!isShown(section) || !status) return;
    isOld = true;
    if (isLoading) return;
    isLoading = true;
    while (isOld) {
      isOld = false;
      try {
        [items, isWhole] = await load();
        failure = null;
      } catch (error) {
        failure = sentence(error);
      }
      draw();
      // Changes that come all the time are handled a few times in a second.
      await new Promise((resolve) => setTimeout(resolve, pace));
    }
    isLoading = false;
  }

  async function load() {
    const found = [];
    let next;
    do {
      const page = await call("Inspector.ListItems", next === undefined ? {} : { after: next });
      found.push(...page.items);
      next = page.next;
    } while (next !== undefined && found.length < most);
    return [found.slice(0, most), next === undefined && found.length <= most];
  }

  function draw() {
    // Only what changed is drawn again, so that a reader keeps the place.
    const next = JSON.stringify([items, isWhole, failure, status?.isPasscodeSet, apps.map(({ name }) => name)]);
    if (next === shown) return;
    shown = next;
    setText(count, failure ?? (items.length === 0 ? "The keychain is empty. Store something with an app, and it appears here."
      : isWhole ? `${items.length} ${items.length === 1 ? "item" : "items"}.` : `The first ${items.length} items.`));
    table.hidden = items.length === 0;
    const owners = [...new Set(items.map(({ accessGroup }) => accessGroup ?? null))].sort((one, other) =>
      one === null ? 1 : other === null ? -1 : one.localeCompare(other));
    const columns = ["What", "Openable", "Asks for", "Now", "Ciphertext"];
    replaceChildren(table,
      element("caption", { class: "unseen" }, "Items, by the app that owns them"),
      element("thead", {}, element("tr", {}, columns.map((words) => element("th", { scope: "col" }, words)))),
      owners.map((owner) => element("tbody", {},
        element("tr", { class: "owner" }, element("th", { scope: "rowgroup", colspan: columns.length }, owner === null
          ? ["Unknown app ", element("small", {}, "Nobody can tell now, because names are encrypted too, and the key to read them is away.")]
          : [element("span", { class: "foreign" }, appName(owner, apps)), " ", element("small", { class: "foreign" }, plain(owner, 200))])),
        items.filter((item) => (item.accessGroup ?? null) === owner).map((item) => row(item, status)))));
  }

  on("keys", refresh);
  on("status", (next) => {
    status = next;
    if (next) refresh();
  });
  onApps((next) => {
    apps = next;
    if (items.length) draw();
  });
  return { section, name: "Items", refresh };
}

function row(item, status) {
  const [answer, reason] = availability(item, status);
  const { protection } = item;
  return element("tr", { testid: `item-${item.row}`, "data-availability": item.availability },
    element("td", {}, item.isEnclaveKey ? "Private key" : kinds[item.itemClass] ?? "Unreadable",
      item.isEnclaveKey ? element("small", {}, "sealed, so only the enclave can use it") : null),
    element("td", {}, protections[protection] ?? "?",
      element("small", {}, !protection ? "" : protection.endsWith("u") ? "on this device only" : "also from a backup")),
    element("td", {}, asksFor(item.flags)),
    element("td", { class: "now" }, element("strong", {}, answer), element("small", {}, reason)),
    element("td", { class: "number" }, item.valueBytes === undefined ? "no value" : size(item.valueBytes),
      element("small", {}, `+ ${size(item.attributeBytes)} names`), element("small", {}, `+ ${size(item.wrappedKeyBytes)} key`)));
}

function asksFor(flags) {
  if (flags === undefined) return "Unknown now";
  const wanted = proofs.filter(([bit]) => has(flags, bit)).map(([, words]) => words);
  if (wanted.length === 0) return "Nobody";
  const text = wanted.join(has(flags, 14) ? ", or " : ", and ");
  return text[0].toUpperCase() + text.slice(1);
}

/// [yes or no, why]
function availability({ availability: kind, obstacle, protection }, status) {
  switch (kind) {
    case "available":
      if (protection?.startsWith("dk")) return ["Yes", "its class key is always there"];
      if (status && !status.isPasscodeSet) return ["Yes", "without a passcode nothing is locked"];
      return ["Yes", protection?.startsWith("ck") ? "the device was unlocked since it started" : "the device is unlocked"];
    case "authenticationNeeded":
      return obstacle === undefined ? ["If the owner agrees", "its class key is there; the enclave asks first"]
        : ["No", obstacles[obstacle] ?? "what it asks for cannot be proven now"];
    case "locked": return ["No", "its class key left when the device was locked"];
    case "notUnlockedSinceBoot": return ["No", "its class key comes with the first passcode after a restart"];
    case "enrolmentChanged": return ["Never again", "other fingers or faces are enrolled than when it was stored"];
    case "passcodeRemoved": return ["Never again", "its class key was destroyed with the passcode"];
    default: return ["No", "no key that is there opens it"];
  }
}
