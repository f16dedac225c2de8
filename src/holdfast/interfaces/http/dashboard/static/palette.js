// The palette: pages, what can be done on this page, and what has a name; anything else is looked for among the jobs.
const jump = byId("jump");
const jumpText = byId("jump-text");
const jumpList = byId("jump-places");
const mostShown = 50;
let named = null; // queues, tasks, tenants, schedules: fetched when somebody first asks, as far as he may see them
let offered = [];
let current = 0;

const pagesToGo = () => [...document.querySelectorAll(".sections a[data-key]")].map((each) => ({ kind: "page", title: each.querySelector("span").textContent, go: () => each.click() }));
// What opens a form says in its heading what it does, and to what.
function actionsHere() {
  const forms = [...document.querySelectorAll("main details.asking")].filter((each) => each.querySelector("summary").checkVisibility());
  const opened = forms.map((each) => {
    const label = each.querySelector("summary").textContent.trim();
    const heading = each.querySelector("form h2")?.textContent.replace(/\?$/, "");
    return { kind: "action", title: heading ?? label, also: label, go: () => { each.open = true; each.scrollIntoView({ block: "nearest" }); } };
  });
  const buttons = [...document.querySelectorAll("main a.button, main form.own button, #batch button, #ticked button")].filter((each) => each.checkVisibility() && !each.disabled && !each.closest("details, dialog"));
  const pressed = buttons.map((each) => ({ kind: "action", title: each.textContent.trim().replace(/…$/, ""), go: () => each.click() }));
  const everywhere = [["Light or dark", turnTheme], ["Pause or resume live updates", () => live.click()], ["Show the keys", showKeys]];
  return [...opened, ...pressed, ...everywhere.map(([title, go]) => ({ kind: "action", title, go }))];
}
async function fetchNames() {
  const answer = await fetch(jump.querySelector("form").dataset.names).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const read = new DOMParser().parseFromString(await answer.text(), "text/html");
  named = [...read.querySelectorAll("#palette-names option")].map((each) => ({ kind: each.dataset.kind, title: each.value, go: () => location.assign(each.dataset.to) }));
  if (!jump.open) return;
  // Who has gone down the list stays at what is there: Enter must not do something else.
  const pointed = current > 0 ? offered[current] : null;
  offer();
  if (pointed) point(offered.findIndex((entry) => entry.kind === pointed.kind && entry.title === pointed.title));
}
// The beginning of a title before the beginning of a word in it, before anything else that has all words.
function rank(entry, text) {
  const all = `${entry.kind} ${entry.title} ${entry.also ?? ""}`.toLowerCase();
  if (!text.split(/\s+/).every((word) => all.includes(word))) return null;
  const title = entry.title.toLowerCase();
  return title.startsWith(text) ? 0 : title.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(text)) ? 1 : 2;
}
const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
function offer() {
  const text = jumpText.value.trim().toLowerCase();
  const known = [...pagesToGo(), ...actionsHere(), ...(text ? named ?? [] : [])];
  const ranked = known.map((entry) => [entry, rank(entry, text)]).filter(([, place]) => place !== null);
  offered = ranked.sort(([, one], [, other]) => one - other).map(([entry]) => entry).slice(0, mostShown);
  if (wholeId.test(text)) offered.unshift({ kind: "job", title: text, go: () => location.assign(`${prefix}/jobs/${text}`) });
  if (text) offered.push({ kind: "search", title: `Jobs that fit “${jumpText.value.trim()}”`, go: () => location.assign(`${prefix}/jobs?${new URLSearchParams({ q: jumpText.value.trim() })}`) });
  jumpList.replaceChildren(...offered.map((entry, place) => {
    const [item, kind] = [document.createElement("li"), document.createElement("span")];
    Object.assign(item, { id: `jump-${place}`, role: "option" });
    kind.className = "kind";
    kind.textContent = entry.kind;
    item.append(kind, entry.title);
    return item;
  }));
  byId("jump-count").textContent = `${offered.length} found`;
  point(0);
}
function point(place) {
  current = Math.max(0, Math.min(offered.length - 1, place));
  for (const [each, item] of [...jumpList.children].entries()) item.ariaSelected = String(each === current);
  jumpText.setAttribute("aria-activedescendant", `jump-${current}`);
  jumpList.children[current]?.scrollIntoView({ block: "nearest" });
}
function choose(place) {
  const entry = offered[place];
  jump.close();
  entry?.go();
}
function openPalette() {
  if (jump.open) return;
  jump.showModal();
  jumpText.select();
  offer();
  if (!named) fetchNames();
}
jumpText.addEventListener("input", offer);
jumpText.addEventListener("keydown", (event) => {
  const to = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + 8, PageUp: current - 8 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  point(to);
});
jump.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  choose(current);
});
jumpList.addEventListener("click", (event) => {
  const item = event.target.closest("li");
  if (item) choose([...jumpList.children].indexOf(item));
});
