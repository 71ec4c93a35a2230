// Shows the states that the app sends, and sends what is pressed. Every open page shows the same.

const element = (id) => document.getElementById(id);
const first = { new: ["new-password"], signedOut: ["biometrics", "password"], asking: ["cancel"], signedIn: ["title"] };

let shown = {};
// Whoever answers at this address after Chores may be anybody: nothing is asked of it, and what was typed is dropped.
let isEnded = false;

const events = new EventSource("states");
events.addEventListener("message", (event) => show(JSON.parse(event.data)));
events.addEventListener("error", () => {
  events.close();
  isEnded = true;
  element("notice").textContent = "Chores does not answer. Start it again, and open the address that it prints.";
  document.body.dataset.phase = "";
  for (const form of document.forms) {
    form.reset();
    form.hidden = true;
  }
});

function show(state) {
  const isPhaseNew = state.phase !== shown.phase;
  const isNoticeNew = state.notice?.text !== shown.notice?.text;
  shown = state;
  const isOwner = state.phase === "signedIn";

  // Only what is new is said by a screen reader.
  const notice = state.notice?.text ?? "";
  if (element("notice").textContent !== notice) element("notice").textContent = notice;
  element("who").textContent = isOwner ? "Signed in" : "";
  element("sign-out").hidden = !isOwner;
  element("add").hidden = !isOwner;
  element("register").hidden = state.phase !== "new";
  element("asking").hidden = state.phase !== "asking";
  element("signing-in").hidden = state.phase !== "signedOut";
  element("biometrics").hidden = !state.sensor;
  element("biometrics").textContent = state.sensor ? `Sign In with ${state.sensor}` : "";
  element("list").replaceChildren(...state.chores.map((chore) => item(chore, isOwner)));
  element("empty").hidden = state.chores.length > 0 || state.phase === "unreadable";
  document.body.dataset.phase = state.phase;

  // In a frame beside the device, the keyboard may be the device's: somebody types a passcode there.
  if (window !== window.parent && !document.hasFocus()) return;
  // Whoever works with the keyboard is led on, where what had the focus is gone.
  const isLost = document.activeElement === document.body || !document.activeElement.checkVisibility();
  if (isNoticeNew && state.notice?.asksForPassword) element("password").focus();
  else if (isPhaseNew && isLost) first[state.phase]?.map(element).find((control) => control.checkVisibility())?.focus();
}

function item(chore, isOwner) {
  const box = Object.assign(document.createElement("input"), {
    type: "checkbox", id: chore.id, checked: chore.isDone, disabled: !isOwner,
  });
  box.addEventListener("change", () => send("done", { id: chore.id, isDone: box.checked }));
  const label = Object.assign(document.createElement("label"), { htmlFor: chore.id, textContent: chore.title });
  const line = document.createElement("li");
  line.classList.toggle("done", chore.isDone);
  line.append(box, label);
  if (isOwner) {
    const remove = Object.assign(document.createElement("button"), { type: "button", textContent: "Remove" });
    remove.setAttribute("aria-label", `Remove ${chore.title}`);
    remove.addEventListener("click", () => send("remove", { id: chore.id }));
    line.append(remove);
  }
  return line;
}

async function send(action, body = {}) {
  if (isEnded) return;
  try {
    const answer = await fetch(action, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    if (!answer.ok) element("notice").textContent = `Chores refused (${answer.status}).`;
  } catch {
    element("notice").textContent = "Chores does not answer.";
  }
}

for (const [button, action] of [
  ["biometrics", "sign-in-with-biometrics"], ["cancel", "cancel"], ["sign-out", "sign-out"],
]) element(button).addEventListener("click", () => send(action));

for (const form of ["register", "sign-in", "add"]) {
  element(form).addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, Object.fromEntries(new FormData(event.target)));
    event.target.reset();
  });
}
