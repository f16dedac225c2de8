// Keys of the page of one job; the list of keys and their off-switch are holdfast.js's.
Object.assign(help, { "r": "run this job again", "c": "stop this job", "y": "copy its id" });
const opensForm = (part) => {
  const asking = document.querySelector(`.job-actions form[action$="${part}"]`)?.closest("details");
  if (asking) asking.open = true;
};
document.addEventListener("keydown", (event) => {
  if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const does = { "r": () => opensForm("/retry"), "c": () => opensForm("/cancel"), "y": () => byId("copy-id")?.click() }[event.key];
  if (does && Date.now() - went >= 1500) {
    event.preventDefault();
    does();
  }
});
// -- the log of an attempt that runs: its end stays in sight while it is followed, and nowhere else is anybody pulled to -------
let follows = !location.hash;
let seenTo = 0;
const followed = () => document.querySelector(".logs[data-runs]");
const isAtEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 4;
function follow() {
  const [list, button] = [followed(), byId("follow")];
  if (!list || !button) return;
  button.hidden = false;
  button.setAttribute("aria-pressed", String(follows));
  if (!follows) return;
  list.scrollTop = list.scrollHeight;
  // Told of at the next frame only: who scrolls up before it would seem to have come down from the top.
  seenTo = list.scrollTop;
}
document.addEventListener("click", (event) => {
  if (!event.target.closest("#follow")) return;
  follows = !follows;
  follow();
});
// Who scrolls up reads there; who comes back to the end follows again.
document.addEventListener("scroll", (event) => {
  const list = followed();
  if (event.target !== list) return;
  const wentUp = list.scrollTop < seenTo;
  seenTo = list.scrollTop;
  if (follows ? wentUp && !isAtEnd(list) : !wentUp && isAtEnd(list)) {
    follows = !follows;
    follow();
  }
}, true);
document.addEventListener("holdfast:swapped", follow);
follow();
