// The list of jobs beyond links and forms: completion of the search's last term, and choosing many rows.

// -- completion ------------------------------------------------------------------------------------------------------------
// A datalist completes the whole text: what stands before the last term is put in front of every word it knows.
const box = document.getElementById("search");
const known = [...document.querySelectorAll("#search-words option")].map((each) => each.value);
const atOnce = 60;
function completions(text) {
  const [, head, last] = text.match(/^(.*?)((?:[\w.-]+:"[^"]*|[^\s"]*))$/s) ?? [null, text, ""];
  const given = new Set([...head.matchAll(/([\w.-]+):/g)].map((each) => each[1]));
  const fits = (word) => word.toLowerCase().startsWith(last.toLowerCase()) && !(given.has(word.split(":")[0]) && word.split(":")[0] !== "tag");
  const found = known.filter(fits);
  // A field before its values, until it is written: all of them would hide the other fields.
  const shown = last.includes(":") ? found : [...new Set(found.map((word) => `${word.split(":")[0]}:`))].flatMap((field) => [field, ...found.filter((word) => word.startsWith(field)).slice(0, last ? atOnce : 0)]);
  return [...new Set(shown)].slice(0, atOnce).map((word) => head + word);
}
function complete() {
  const list = document.getElementById("search-words");
  list.replaceChildren(...completions(box.value).map((value) => Object.assign(document.createElement("option"), { value })));
}
if (box && known.length) {
  box.addEventListener("input", complete);
  box.addEventListener("focus", complete);
}

// -- choosing --------------------------------------------------------------------------------------------------------------
const picks = () => [...document.querySelectorAll("input[name=pick]")];
let last = null;
function tellChosen() {
  const all = document.querySelector("[data-pick-all]");
  if (!all) return;
  all.hidden = false;
  const [boxes, chosen] = [picks(), picks().filter((each) => each.checked)];
  all.checked = chosen.length === boxes.length && boxes.length > 0;
  all.indeterminate = chosen.length > 0 && !all.checked;
  const matching = document.querySelector("#batch input[name=all]");
  if (matching && !all.checked) matching.checked = false;
  const label = matching?.closest("label");
  if (label) label.hidden = !all.checked;
  const words = document.querySelector(".chosen-count");
  if (words) words.textContent = matching?.checked ? "All that match:" : `${chosen.length} chosen:`;
}
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-pick-all]")) for (const each of picks()) each.checked = event.target.checked;
  if (event.target.matches("[data-pick-all], input[name=pick], #batch input[name=all]")) tellChosen();
});
document.addEventListener("click", (event) => {
  if (!event.target.matches("input[name=pick]")) return;
  const boxes = picks();
  const [from, to] = [boxes.indexOf(last), boxes.indexOf(event.target)];
  if (event.shiftKey && from >= 0) for (const each of boxes.slice(Math.min(from, to), Math.max(from, to) + 1)) each.checked = event.target.checked;
  last = event.target;
  tellChosen();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.target.closest("input[type=search], details[open]")) return;
  for (const each of picks().filter((box) => box.checked)) {
    each.checked = false;
    each.dispatchEvent(new Event("change", { bubbles: true })); // what has waited for it comes now
  }
  tellChosen();
});
document.addEventListener("holdfast:swapped", tellChosen);
tellChosen();

// -- keys: for the chosen rows, or for the one that somebody is on; both are asked about on the next page ---------------------
Object.assign(help, { "r": "run the chosen jobs again", "c": "stop the chosen jobs", "y": "copy the row's id" });
const rowOn = () => document.activeElement.closest?.("tr[id^=job-]");
function doToChosen(action) {
  const own = rowOn()?.querySelector("input[name=pick]");
  if (own && !picks().some((each) => each.checked)) own.checked = true;
  if (picks().some((each) => each.checked)) document.querySelector(`#batch button[value=${action}]`).click();
}
document.addEventListener("keydown", (event) => {
  if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || Date.now() - went < 1500) return;
  const does = { "r": () => doToChosen("retry"), "c": () => doToChosen("cancel"), "y": () => rowOn() && navigator.clipboard.writeText(rowOn().id.slice("job-".length)) }[event.key];
  if (does) {
    event.preventDefault();
    does();
  }
});
