// The page: asks the server for a request, shows its code, hands both to the approver on this computer, and waits for what
// becomes of it. docs/sign-in.md has the routes. Text of others only ever becomes text.

/// The approver of this computer: `touchstone-login approve`.
const APPROVER = "http://127.0.0.1:47813/approve";
/// Between two looks at what became of the request.
const POLL_MILLISECONDS = 1000;
/// So many looks in a row may find no server before the page says so.
const POLL_FAILURES = 3;
/// The longest wait for one answer of the server.
const ANSWER_MILLISECONDS = 10_000;
/// How long after the code ran out the server is still asked what it says: clocks differ.
const GRACE_MILLISECONDS = 5_000;

/// Why the device did not ask, by the approver's word.
const reasons = {
  busy: "It already asks about another page.",
  lockedOut: "Too many fingers did not match. Unlock it with its passcode first.",
  notRecognised: "It did not recognise you.",
  other: "The terminal where touchstone-login approve runs says why.",
};

const byTest = (name) => document.querySelector(`[data-testid="${name}"]`);
/// One attempt at a time; what belongs to an earlier one is void.
let attempt = null;

const acts = { addPasskey, begin, cancel, open, signOut, usePasskey };
for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", () => acts[button.dataset.act]());
byTest("site").textContent = location.host;
byTest("origin").textContent = location.origin;
// Passkeys belong to a name: no browser has them for an address of numbers.
const hasPasskeys = Boolean(globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) && !/^[\d.]+$|^\[/.test(location.hostname);
for (const element of document.querySelectorAll('[data-needs="passkeys"]')) element.hidden = !hasPasskeys;
open();

/// Shows one of the page's states, and moves the focus there if it was in the state before.
function show(state) {
  const hadFocus = document.activeElement?.closest("section");
  let heading = null;
  for (const section of document.querySelectorAll("section[data-state]")) {
    section.hidden = section.dataset.state !== state;
    if (!section.hidden) heading = section.querySelector("h2") ?? section.querySelector("button");
  }
  document.body.dataset.state = state;
  if (hadFocus) heading.focus();
}

async function open() {
  try {
    const answer = await ask("GET", "v1/web/session");
    if (answer.status === 200) showAccount((await answer.json()).account);
    else show("start");
  } catch {
    show("offline");
  }
}

async function begin() {
  const mine = startAttempt();
  show("asking");
  let request;
  try {
    const answer = await ask("POST", "v1/web/requests", {}, mine.ended.signal);
    if (answer.status === 429) return showWait(answer);
    if (!answer.ok) return show("offline");
    request = await answer.json();
  } catch {
    if (attempt === mine) show("offline");
    return;
  }
  if (attempt !== mine) return;
  mine.request = request;
  byTest("code").textContent = request.code;
  count(mine, performance.now() + request.expiresIn * 1000);
  show("waiting");
  handOver(mine);
  await watch(mine, performance.now() + request.expiresIn * 1000 + GRACE_MILLISECONDS);
}

/// To the approver. It answers when it has decided, or at once; what counts is what the server says.
async function handOver(mine) {
  const { request, code } = mine.request;
  let answer;
  try {
    answer = await fetch(APPROVER, {
      method: "POST", mode: "cors", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer",
      headers: { "Content-Type": "application/json" }, body: JSON.stringify({ request, code }), signal: mine.ended.signal,
    });
  } catch {
    // Nothing is there, or it gives this page no leave: which of the two, a request that reads no answer tells.
    const isThere = !mine.ended.signal.aborted && await fetch(APPROVER, { mode: "no-cors", signal: mine.ended.signal }).then(() => true, () => false);
    return end(mine, isThere ? "unknown-site" : "no-approver");
  }
  if (answer.ok) return;
  const { error } = await answer.json().catch(() => ({}));
  if (error === "notRegistered" || error === "registrationNeeded") return end(mine, "unknown-site");
  if (error === "expired") return end(mine, "expired");
  // The server has a word on this, which comes with the next looks; where it has none, the approval was refused for another reason.
  if (error === "refused") return setTimeout(() => end(mine, "refused"), 3 * POLL_MILLISECONDS);
  byTest("why").textContent = reasons[error] ?? reasons.other;
  end(mine, "not-now");
}

/// Until the request is settled, or the time is over.
async function watch(mine, deadline) {
  let failures = 0;
  while (attempt === mine) {
    try {
      const answer = await ask("GET", "v1/web/requests/state", undefined, mine.ended.signal);
      // Asked too often: it is the wait that grows, not the page's patience that ends.
      if (answer.status !== 429) {
        if (!answer.ok) throw new Error(`${answer.status}`);
        const { state, account } = await answer.json();
        if (attempt !== mine) return;
        // Without a name where an earlier answer with it was lost: the session is there.
        if (state === "approved") return endWith(mine, () => account ? showAccount(account) : open());
        if (state !== "pending") return end(mine, state);
      }
      failures = 0;
    } catch {
      failures += 1;
      if (failures >= POLL_FAILURES) return end(mine, "offline");
    }
    if (performance.now() > deadline) return end(mine, "expired");
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
  }
}

/// The time that is left, once a second.
function count(mine, deadline) {
  const tell = () => {
    const seconds = Math.max(0, Math.ceil((deadline - performance.now()) / 1000));
    byTest("countdown").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
  };
  tell();
  mine.timer = setInterval(tell, 1000);
}

async function cancel() {
  const mine = attempt;
  if (!mine?.request) return;
  const { request, code } = mine.request;
  end(mine, "denied");
  // Where nobody hears it, the request ends with its time.
  await ask("POST", "v1/web/requests/deny", { request, code }).catch(() => {});
}

/// Signs in with a passkey that the owner chooses in the browser's own window.
async function usePasskey() {
  const mine = startAttempt();
  show("choosing");
  let options;
  try {
    const answer = await ask("POST", "v1/web/passkeys/sign-ins/challenge", {}, mine.ended.signal);
    if (answer.status === 429) return endWith(mine, () => showWait(answer));
    if (!answer.ok) return end(mine, "offline");
    options = PublicKeyCredential.parseRequestOptionsFromJSON(await answer.json());
  } catch {
    return end(mine, "offline");
  }
  let passkey;
  try {
    passkey = await navigator.credentials.get({ publicKey: options, signal: mine.ended.signal });
  } catch {
    return end(mine, "no-passkey");
  }
  try {
    const answer = await ask("POST", "v1/web/passkeys/sign-ins", passkey.toJSON(), mine.ended.signal);
    if (!answer.ok) return end(mine, answer.status === 401 ? "passkey-refused" : "offline");
    const { account } = await answer.json();
    endWith(mine, () => showAccount(account));
  } catch {
    end(mine, "offline");
  }
}

/// Makes a passkey for the account that is signed in.
async function addPasskey() {
  const button = byTest("add-passkey");
  button.disabled = true;
  note(await makePasskey());
  button.disabled = false;
}

/// What became of it, in a sentence.
async function makePasskey() {
  const offline = "The site does not answer. No passkey was added.";
  const again = "Sign out and in again, then add the passkey within five minutes.";
  let options;
  try {
    const answer = await ask("POST", "v1/web/passkeys/registrations/challenge", {});
    if (answer.status === 401) return again;
    if (!answer.ok) return offline;
    options = PublicKeyCredential.parseCreationOptionsFromJSON(await answer.json());
  } catch {
    return offline;
  }
  let passkey;
  try {
    passkey = await navigator.credentials.create({ publicKey: options });
  } catch (error) {
    return error.name === "InvalidStateError" ? "This authenticator has a passkey for your account already." : "No passkey was added.";
  }
  try {
    const answer = await ask("POST", "v1/web/passkeys/registrations", passkey.toJSON());
    if (answer.ok) return "The passkey was added.";
    if (answer.status === 409) return "The account has as many keys as it may have, or this one already.";
    return answer.status === 401 ? "The site refused the passkey. No passkey was added." : offline;
  } catch {
    return offline;
  }
}

function note(text) {
  byTest("passkey-note").textContent = text;
  byTest("passkey-note").hidden = !text;
}

async function signOut() {
  try {
    const answer = await ask("POST", "v1/web/session/end", {});
    show(answer.ok || answer.status === 401 ? "start" : "offline");
  } catch {
    show("offline");
  }
}

function startAttempt() {
  if (attempt) endWith(attempt, () => {});
  attempt = { ended: new AbortController(), request: null, timer: null };
  return attempt;
}

function end(mine, state) {
  endWith(mine, () => show(state));
}

function endWith(mine, then) {
  if (attempt !== mine) return;
  attempt = null;
  clearInterval(mine.timer);
  mine.ended.abort();
  then();
}

function showAccount(name) {
  byTest("account").textContent = name;
  note("");
  show("signed-in");
}

function showWait(answer) {
  const seconds = Number.parseInt(answer.headers.get("Retry-After") ?? "60", 10);
  byTest("wait").textContent = seconds === 1 ? "a second" : `${seconds} seconds`;
  show("too-many");
}

/// One request to the page's own server, whose answer is not waited for longer than its limit.
function ask(method, path, body, signal) {
  const limit = AbortSignal.timeout(ANSWER_MILLISECONDS);
  return fetch(path, {
    method, cache: "no-store", credentials: "same-origin", signal: signal ? AbortSignal.any([signal, limit]) : limit,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}
