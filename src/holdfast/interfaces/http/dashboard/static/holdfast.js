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

// -- tabs that do not fit: the one that is open stands in sight ----------------------------------------------------------------
for (const current of document.querySelectorAll(".tabs [aria-current]")) {
  const tabs = current.closest(".tabs");
  tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
}

// -- live ----------------------------------------------------------------------------------------------------------------
// The stream names what has changed; panels are then read anew. Without a stream they are read every now and then.
const live = byId("live");
const pollEvery = 10000;
const silenceAfter = 40000; // the server says something every quarter of a minute
let paused = false;
let connected = false;
let connecting = false;
let streaming = false; // or hx-sse has given up
let heard = Date.now();
const stale = new Set(); // ids of panels that changed while a person was busy
const failed = new Set(); // ids of panels that could not be read: they are asked for with the next poll, and not before
function showLive() {
  const state = paused ? "paused" : !connected ? "reconnecting" : stale.size || failed.size ? "updates wait" : "live";
  live.dataset.state = state;
  live.querySelector(".live-word").textContent = state;
  live.setAttribute("aria-pressed", String(paused));
}
const panels = () => [...document.querySelectorAll("[hx-get][data-on]")];
const namesOf = (panel) => panel.dataset.on.split(" ");
function readAnew(which) {
  for (const panel of which) htmx.trigger(panel, "anew");
}
// Names come one after another: a panel that shows several of them is read once for all that come together.
const together = 20;
const told = new Set();
function hear(event) {
  if (!told.size) {
    setTimeout(() => {
      const names = new Set(told);
      told.clear();
      readAnew(panels().filter((panel) => namesOf(panel).some((name) => names.has(name))));
    }, together);
  }
  told.add(event.type);
}
// What a person is doing is not pulled away: an open form, chosen rows, marked text.
function isMarking() {
  const marked = getSelection();
  return !marked.isCollapsed && byId("content").contains(marked.anchorNode);
}
const isBusy = () => paused || document.hidden || isMarking() || document.querySelector("details.asking[open], dialog[open], input[name=pick]:checked");
function catchUp() {
  if (!stale.size || isBusy()) return;
  const waited = panels().filter((each) => stale.has(each.id));
  stale.clear();
  readAnew(waited);
  showLive();
}
function lose() {
  connected = false;
  showLive();
}
async function connect() {
  if (connecting || streaming) return; // an answer may take longer than a poll
  connecting = true;
  try {
    await htmx.ajax("GET", document.body.dataset.live, { source: document.body });
  } finally {
    connecting = false;
  }
}
function poll() {
  if (connected && Date.now() - heard > silenceAfter) lose();
  if (connected) {
    catchUp();
    return readAnew(panels().filter((each) => failed.has(each.id)));
  }
  connect();
  readAnew(panels());
}
if (live && window.htmx) {
  live.hidden = false;
  live.title = "Pause live updates (p)";
  showLive();
  live.addEventListener("click", () => {
    paused = !paused;
    showLive();
    catchUp();
  });
  let before = false;
  document.body.addEventListener("ready", (event) => {
    [connected, heard] = [true, Date.now()];
    showLive();
    // What happened meanwhile was not told, or so long ago that it is not told again to a page that was late.
    if (before || performance.now() > Number(event.detail.data)) readAnew(panels());
    before = true;
  });
  document.body.addEventListener("htmx:sse:after:message", () => {
    heard = Date.now();
  });
  document.body.addEventListener("htmx:sse:before:connection", (event) => {
    streaming = true;
    if (event.detail.connection.attempt > 0) lose();
  });
  document.body.addEventListener("htmx:sse:error", lose);
  document.body.addEventListener("htmx:sse:close", () => {
    streaming = false;
    lose();
  });
  for (const name of new Set(panels().flatMap(namesOf))) document.body.addEventListener(name, hear);
  connect(); // by itself hx-sse would before this script came to listen, or not at all if it comes late
  setInterval(poll, pollEvery);
  for (const name of ["toggle", "close", "change", "selectionchange", "visibilitychange"]) document.addEventListener(name, () => setTimeout(catchUp), true);
}
function putOff(event, panel) {
  event.preventDefault();
  stale.add(panel.id);
  showLive();
}
// What is not there any more, or not for this person, will not be there the next time either: the whole page says so better.
// It is asked for once, for all its panels; where it says that all is well, the panel is one that could not be read.
const leaving = (panel) => `holdfast-left ${location.href} ${panel.id}`;
const mayPass = (status) => !(status >= 400 && status < 500) || status === 429;
function miss(panel, status) {
  if (!mayPass(status) && panel.matches(".panel") && !sessionStorage.getItem(leaving(panel))) {
    for (const each of panels()) sessionStorage.setItem(leaving(each), "once");
    return location.reload();
  }
  failed.add(panel.id);
  showLive();
}
const panelOf = (event) => {
  const source = event.detail?.ctx?.sourceElement;
  return source?.matches?.(".panel, .badge") ? source : null;
};
document.addEventListener("htmx:before:request", (event) => {
  const panel = panelOf(event);
  if (!panel) return;
  if (isBusy()) putOff(event, panel);
  else panel.setAttribute("aria-busy", "true");
});
// What comes after somebody has begun is as stale as what is not asked for; and an old panel says more than somebody's error page.
document.addEventListener("htmx:before:swap", (event) => {
  const panel = panelOf(event);
  const status = event.detail?.ctx?.response?.status;
  if (panel && isBusy()) return putOff(event, panel);
  if (!(status >= 400)) return;
  event.preventDefault();
  if (panel) miss(panel, status);
});
document.addEventListener("htmx:error", (event) => {
  const panel = panelOf(event);
  if (panel) miss(panel); // there was no answer
});
document.addEventListener("htmx:after:swap", (event) => {
  const panel = panelOf(event);
  if (!panel) return;
  for (const ids of [stale, failed]) ids.delete(panel.id);
  sessionStorage.removeItem(leaving(panel));
  showLive();
});
document.addEventListener("htmx:finally:request", (event) => event.detail?.ctx?.sourceElement?.removeAttribute?.("aria-busy"));
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

// -- only one open form; Back, Escape and a click elsewhere close it, and keep what was written ------------------------------
function closeForms(except) {
  for (const each of document.querySelectorAll("details.asking[open]")) {
    if (each === except) continue;
    if (each.contains(document.activeElement)) each.querySelector("summary").focus();
    each.open = false;
  }
}
document.addEventListener("toggle", (event) => {
  if (!event.target.matches?.("details.asking") || !event.target.open) return;
  closeForms(event.target);
  event.target.querySelector("input:not([type=hidden]), select, textarea, button")?.focus();
}, true);
document.addEventListener("click", (event) => {
  const within = event.target.closest("details.asking");
  if (!within || event.target.closest("button.close")) closeForms();
});

// -- keys ------------------------------------------------------------------------------------------------------------------
const keysAreOn = () => localStorage.getItem("holdfast-keys") !== "off";
const isTyping = (target) => target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
const prefix = document.body.dataset.prefix;
let went = 0;
const help = {
  "/": "search", "?": "this list", "g then a letter": "go to a page", "j / k": "next and previous row", "Enter": "open the row",
  "x": "select the row", "Shift+X": "select from the last one to this row", "Ctrl+K": "go anywhere, or do something here", "p": "pause live updates", "t": "light or dark", "Esc": "close",
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
  (next.querySelector("th a, td a") ?? next.querySelector("input, summary, button"))?.focus();
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeForms();
  if (keysAreOn() && event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    event.preventDefault();
    openPalette();
    return;
  }
  if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (Date.now() - went < 1500) {
    const entry = document.querySelector(`.sections a[data-key="${CSS.escape(event.key)}"]`);
    went = 0;
    if (entry) return entry.click();
  }
  const pick = () => document.activeElement.closest?.("tr")?.querySelector("input[name=pick]");
  const does = {
    "/": () => byId("search").focus(), "?": showKeys, "g": () => { went = Date.now(); }, "j": () => moveRow(1), "k": () => moveRow(-1),
    "x": () => pick()?.click(), "X": () => pick()?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true })), "p": () => live?.click(), "t": turnTheme,
  }[event.key];
  if (does) {
    event.preventDefault();
    does();
  }
});
