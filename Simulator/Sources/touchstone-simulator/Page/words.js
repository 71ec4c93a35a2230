// The device's answers, numbers and names in words.

const refusals = {
  passcodeNotSet: "The device has no passcode. Set one first.",
  passcodeAlreadySet: "The device already has a passcode.",
  passcodeDisabled: "After ten wrong passcodes the device has to be erased, but its disk could not be written. Restart it.",
  passcodeTooShort: "The new passcode is too short.",
  passcodeTooLong: "A passcode has at most 256 bytes.",
  passcodeNotOfKind: "The new passcode does not have the kind that you chose.",
  busy: "The device accepts no passcode now. Try again later.",
  noFaceID: "This device has no Face ID.",
  noSensor: "This device has no sensor.",
  tooManyFingers: "No more fingers or faces can be enrolled. Remove one first.",
  fingerAlreadyEnrolled: "A finger or face with that name is already enrolled.",
  hasSensor: "The device already has a sensor of its own.",
  noSuchFinger: "That finger or face is not enrolled.",
  invalidName: "That name cannot be used. Use 1 to 64 bytes of text.",
  staleNonce: "The passcode came too late, because the device had moved on. Try again.",
  unreadablePasscode: "The enclave could not open what was sealed for it.",
  staleKey: "The device was booted meanwhile. Try again.",
  locked: "The device is locked.",
  notOwner: "The device belongs to somebody else.",
  notListed: "Root has not listed this program as one that may use the device’s settings.",
  lockedTooOften: "Programs locked the device three times within two minutes. Try again in five minutes.",
  tpmUnavailable: "The device’s TPM does not answer as it should.",
  tpmLockedOut: "The device’s TPM accepts no passcode now. Try again later.",
  notKept: "The device’s disk is full or does not work. Nothing changed.",
};

/// What a DeviceError says, as a sentence.
export function sentence(error) {
  switch (error.error) {
    case null: return "The device does not answer.";
    case "io.touchstone.Device.Refused": return refusals[error.parameters.reason] ?? "The device refused.";
    case "io.touchstone.Device.PasscodeRejected":
      if (error.parameters.isErased) return "Too many wrong passcodes: the device was erased.";
      // What was typed during the wait was not looked at (PC-02).
      return error.parameters.retryAfterSeconds
        ? `After wrong passcodes the device accepts no passcode for another ${timeLeft(error.parameters.retryAfterSeconds)}.` : "Wrong passcode.";
    case "io.touchstone.Device.NotSimulated": return "This is not a simulated device.";
    case "io.touchstone.Agent.NoSuchPrompt": return "That prompt has already ended.";
    default: return `The device answered ${error.error ?? error.message}.`;
  }
}

/// "0:59", "2 h 10 min".
export function timeLeft(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/// "1 hour", "2 days 3 hours": to the minute, the two largest parts.
export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  const parts = [[Math.floor(minutes / 1440), "day"], [Math.floor(minutes / 60) % 24, "hour"], [minutes % 60, "minute"]];
  const said = parts.filter(([count]) => count).slice(0, 2).map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`);
  return said.join(" ") || "less than a minute";
}

/// A name or claim for use in our own sentences: printable, short, in quotation marks and without any inside.
export function quoted(text, length = 60) {
  return `“${plain(text, length)}”`;
}

export function plain(text, length = 256) {
  const clean = String(text ?? "").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\u{fffd}").replace(/[“”„‟"«»]/gu, "'");
  const characters = [...clean];
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : clean;
}

/// What an app is called: as the device knows it, else the end of its identifier. apps: those of `onApps`.
export function appName(identifier, apps = []) {
  const known = apps.find((app) => app.identifier === identifier);
  return plain(known?.name ?? (identifier.split(/[/:]/).pop() || identifier), 60);
}

export const biometryNames = { 0: "no sensor", 1: "Touch ID", 2: "Face ID", 4: "Optic ID" };

/// Whether the sensor is looked at, not touched.
export const isFace = (biometryType) => biometryType === 2 || biometryType === 4;

export const passcodeKinds = {
  fourDigit: "Four digits", sixDigit: "Six digits", numeric: "Digits, as many as you like",
  alphanumeric: "Letters, digits and signs",
};
