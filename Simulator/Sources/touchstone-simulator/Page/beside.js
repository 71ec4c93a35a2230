// Names the two devices: a frame by its device, and the tab by what asks.
const frames = [...document.querySelectorAll("iframe")];
const titleOf = (frame) => frame.contentDocument?.title ?? "";

function tell() {
  for (const frame of frames) if (titleOf(frame)) frame.title = titleOf(frame);
  const asked = frames.map(titleOf).find((title) => title.startsWith("Asked by"));
  document.title = asked ?? frames.map((frame) => titleOf(frame).split(" – ")[0]).concat("Touchstone simulator").join(" – ");
}

for (const frame of frames) {
  const watch = () => {
    const head = frame.contentDocument?.head;
    if (head) new MutationObserver(tell).observe(head, { childList: true, subtree: true, characterData: true });
    tell();
  };
  frame.addEventListener("load", watch);
  if (frame.contentDocument?.readyState === "complete") watch();
}
