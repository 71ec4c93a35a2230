// Where a passcode is typed: keys for one that is digits, a field for any other.
import { on } from "./device.js";
import { element, replaceChildren, setText } from "./elements.js";
import { timeLeft } from "./words.js";

const fixedLengths = { fourDigit: 4, sixDigit: 6 };
const maximumBytes = 256;

export class PasscodeEntry {
  #submitted;
  #digits = new Uint8Array(maximumBytes);
  #count = 0;
  #kind = null;
  #isBusy = false;
  #restsUntil = 0;
  #retryAt = 0;
  #timer = null;

  #dots = element("div", { class: "dots", testid: "passcode-dots", role: "img" });
  #keys = element("div", { class: "keys", role: "group", "aria-label": "Digits" });
  #field;
  #okay;
  #form;
  #message = element("p", { class: "passcode-message", testid: "passcode-message", role: "status" });
  element;

  /// submitted(bytes) is called with what was typed, which is zero after it; its promise ends when the device has answered.
  constructor({ label, submitted }) {
    this.#submitted = submitted;
    for (const digit of [1, 2, 3, 4, 5, 6, 7, 8, 9]) this.#keys.append(this.#key(digit));
    this.#okay = element("button", { type: "button", class: "key quiet", testid: "key-ok", onclick: () => this.#submit() }, "OK");
    this.#keys.append(
      this.#okay, this.#key(0),
      element("button", {
        type: "button", class: "key quiet", testid: "key-delete", "aria-label": "Delete the last digit", onclick: () => this.#delete(),
      }, "⌫"));
    this.#field = element("input", {
      type: "password", testid: "passcode-field", "aria-label": label, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      maxlength: maximumBytes,
    });
    this.#form = element("form", {
      class: "passcode-form", onsubmit: (event) => {
        event.preventDefault();
        this.#submit();
      },
    }, this.#field, element("button", { testid: "passcode-submit", class: "primary" }, "OK"));
    this.element = element("div", { class: "passcode", role: "group", "aria-label": label, onkeydown: (event) => this.#keyDown(event) },
      this.#dots, this.#message, this.#keys, this.#form);
    this.show({ kind: "fourDigit" });
    on("ended", () => this.clear());
  }

  /// kind: of the passcode; null for a password that is not the passcode. message: what went wrong with the last one.
  show({ kind, message = "", retryAfterSeconds = null, label = null }) {
    if (label) this.#field.setAttribute("aria-label", label);
    if (kind !== this.#kind) this.clear();
    this.#kind = kind;
    this.#retryAt = retryAfterSeconds ? performance.now() + retryAfterSeconds * 1000 : 0;
    const isDigits = kind !== null && kind !== "alphanumeric";
    this.#keys.hidden = this.#dots.hidden = !isDigits;
    this.#form.hidden = isDigits;
    this.#okay.classList.toggle("is-absent", kind in fixedLengths);
    this.#okay.disabled = kind in fixedLengths;
    this.message = message;
    this.#draw();
  }

  set message(text) {
    this.text = text;
    this.#draw();
  }

  /// Another prompt has the pad now: drops what was typed, and accepts nothing for a moment.
  rest(milliseconds) {
    this.clear();
    this.#restsUntil = performance.now() + milliseconds;
    this.#draw();
  }

  clear() {
    this.#digits.fill(0);
    this.#count = 0;
    this.#field.value = "";
    this.#draw();
  }

  focus() {
    (this.#form.hidden ? this.#keys.querySelector("button:not(:disabled)") : this.#field)?.focus();
  }

  get #isClosed() {
    return this.#isBusy || performance.now() < Math.max(this.#retryAt, this.#restsUntil);
  }

  #key(digit) {
    return element("button", { type: "button", class: "key", testid: `key-${digit}`, onclick: () => this.#type(digit) }, String(digit));
  }

  #keyDown(event) {
    if (this.#keys.hidden || event.ctrlKey || event.altKey || event.metaKey) return;
    if (/^[0-9]$/.test(event.key)) this.#type(Number(event.key));
    else if (event.key === "Backspace") this.#delete();
    else if (event.key === "Enter" && !(this.#kind in fixedLengths)) this.#submit();
    else return;
    event.preventDefault();
  }

  #type(digit) {
    if (this.#isClosed || this.#count === maximumBytes) return;
    this.#digits[this.#count] = 0x30 + digit;
    this.#count += 1;
    this.text = "";
    this.#draw();
    if (this.#count === fixedLengths[this.#kind]) this.#submit();
  }

  #delete() {
    if (this.#count > 0) this.#digits[--this.#count] = 0;
    this.#draw();
  }

  async #submit() {
    if (this.#isClosed) return;
    const typed = this.#form.hidden ? this.#digits.slice(0, this.#count) : new TextEncoder().encode(this.#field.value);
    if (typed.length === 0) return;
    this.clear();
    this.#isBusy = true;
    this.#draw();
    try {
      await this.#submitted(typed);
    } finally {
      typed.fill(0);
      this.#isBusy = false;
      this.#draw();
    }
  }

  #draw() {
    clearTimeout(this.#timer);
    const now = performance.now();
    const left = (this.#retryAt - now) / 1000;
    const isClosed = this.#isClosed;
    // Not disabled, which would take the focus away while somebody types.
    for (const control of this.element.querySelectorAll("button, input")) control.setAttribute("aria-disabled", isClosed);
    this.#field.readOnly = isClosed;
    setText(this.#message, left > 0 ? `${this.text ? `${this.text} ` : ""}Try again in ${timeLeft(left)}.` : this.text ?? "");
    const places = fixedLengths[this.#kind] ?? this.#count;
    const dots = Array.from({ length: Math.min(places, 24) }, (_, place) =>
      element("span", { class: place < this.#count ? "dot is-full" : "dot" }));
    replaceChildren(this.#dots, dots);
    this.#dots.setAttribute("aria-label", `${this.#count} entered`);
    const next = Math.max(this.#retryAt, this.#restsUntil) - now;
    if (next > 0) this.#timer = setTimeout(() => this.#draw(), Math.min(next + 5, 250));
  }
}
