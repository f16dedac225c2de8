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
