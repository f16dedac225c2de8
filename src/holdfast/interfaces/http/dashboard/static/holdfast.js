// Everything a page does beyond links and forms: live state, relative times, themes, copying, keys. Pages work without it.
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

// -- theme ---------------------------------------------------------------------------------------------------------------
const themes = { light: "dark", dark: "light" };
const shown = () => root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
function turnTheme() {
  root.dataset.theme = themes[shown()];
  localStorage.setItem("holdfast-theme", root.dataset.theme);
}
const theme = byId("theme");
if (theme) {
  theme.hidden = false;
  theme.addEventListener("click", turnTheme);
}

// -- times: how long ago, by this machine's clock --------------------------------------------------------------------------
const steps = [[60, "second"], [60, "minute"], [24, "hour"], [365, "day"], [Infinity, "year"]];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
function relative(moment) {
  let left = (new Date(moment) - Date.now()) / 1000;
  for (const [size, unit] of steps) {
    if (Math.abs(left) < size) return words.format(Math.round(left), unit);
    left /= size;
  }
}
// To the second, in the zone that was chosen: this browser's, or UTC.
const two = (number) => String(number).padStart(2, "0");
function exactly(moment) {
  const at = new Date(moment);
  const shift = root.dataset.zone === "utc" ? 0 : at.getTimezoneOffset();
  const told = new Date(at - shift * 60000);
  return `${told.getUTCFullYear()}-${two(told.getUTCMonth() + 1)}-${two(told.getUTCDate())} ${two(told.getUTCHours())}:${two(told.getUTCMinutes())}:${two(told.getUTCSeconds())}`;
}
const zoneName = () => (root.dataset.zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);
function tellTimes() {
  for (const each of document.querySelectorAll("time[datetime]:not(.own-zone)")) {
    const exact = exactly(each.dateTime);
    each.textContent = each.classList.contains("exact") ? exact : relative(each.dateTime);
    each.title = `${exact} ${zoneName()}`;
  }
}
document.addEventListener("holdfast:appearance", tellTimes);
setInterval(tellTimes, 10000);
tellTimes();

// -- live ----------------------------------------------------------------------------------------------------------------
const live = byId("live");
let paused = false;
function showLive(state) {
  live.dataset.state = state;
  live.querySelector(".live-word").textContent = state;
  live.setAttribute("aria-pressed", String(state === "paused"));
}
if (live && window.htmx) {
  live.hidden = false;
  live.title = "Pause live updates (p)";
  showLive("live");
  live.addEventListener("click", () => {
    paused = !paused;
    showLive(paused ? "paused" : "live");
    if (!paused) location.reload();
  });
  document.body.addEventListener("htmx:sse:error", () => paused || showLive("reconnecting"));
  document.body.addEventListener("htmx:sse:open", () => paused || showLive("live"));
}
// What a person is doing is not pulled away: an open form or a selection waits.
const isBusy = () => paused || document.hidden || document.querySelector("details.asking[open], dialog[open], input[name=pick]:checked");
document.addEventListener("htmx:before:request", (event) => {
  if (event.detail?.ctx?.sourceElement?.matches?.(".panel, .badge") && isBusy()) event.preventDefault();
});
document.addEventListener("htmx:after:swap", tellTimes);
document.addEventListener("htmx:after:swap", () => document.dispatchEvent(new Event("holdfast:swapped")));

// -- what waits for a decision: in the title and in the tab's icon, as in the navigation --------------------------------------
function tellWaiting() {
  const badge = byId("approval-badge");
  if (!badge) return;
  document.title = (badge.hidden ? "" : `(${badge.dataset.waiting}) `) + document.title.replace(/^\(\d+\+?\) /, "");
  const icon = document.querySelector("link[rel=icon]");
  icon.href = badge.hidden ? icon.dataset.quiet : icon.dataset.waiting;
}
document.addEventListener("htmx:after:swap", tellWaiting);

// -- copying ---------------------------------------------------------------------------------------------------------------
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.dataset.copied = "";
  setTimeout(() => delete button.dataset.copied, 1500);
});

// -- only one open form, and Escape closes it ------------------------------------------------------------------------------
document.addEventListener("toggle", (event) => {
  if (!event.target.matches?.("details.asking") || !event.target.open) return;
  for (const other of document.querySelectorAll("details.asking[open]")) if (other !== event.target) other.open = false;
  event.target.querySelector("input:not([type=hidden]), select, textarea, button")?.focus();
}, true);

// -- keys ------------------------------------------------------------------------------------------------------------------
const keysAreOn = () => localStorage.getItem("holdfast-keys") !== "off";
const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]");
const prefix = document.body.dataset.prefix;
let went = 0;
const help = {
  "/": "search", "?": "this list", "g then a letter": "go to a page", "j / k": "next and previous row", "Enter": "open the row",
  "x": "select the row", "p": "pause live updates", "t": "light or dark", "Esc": "close",
};
function showKeys() {
  const list = byId("keys").querySelector("dl");
  list.replaceChildren(...Object.entries(help).flatMap(([key, what]) => {
    const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
    dt.textContent = key;
    dd.textContent = what;
    return [dt, dd];
  }));
  byId("keys").showModal();
}
function moveRow(step) {
  const rows = [...document.querySelectorAll("main tbody tr")];
  if (!rows.length) return;
  const now = rows.indexOf(document.activeElement.closest?.("tr"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, now + step))];
  (next.querySelector("th a, td a, input") ?? next).focus();
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const each of document.querySelectorAll("details.asking[open]")) each.open = false;
  if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (Date.now() - went < 1500) {
    const entry = document.querySelector(`.sections a[data-key="${CSS.escape(event.key)}"]`);
    went = 0;
    if (entry) return entry.click();
  }
  const does = {
    "/": () => byId("search").focus(), "?": showKeys, "g": () => { went = Date.now(); }, "j": () => moveRow(1), "k": () => moveRow(-1),
    "x": () => document.activeElement.closest?.("tr")?.querySelector("input[name=pick]")?.click(), "p": () => live?.click(), "t": turnTheme,
  }[event.key];
  if (does) {
    event.preventDefault();
    does();
  }
});
