// Keys of the inbox: a approves, d denies, each after its form has been answered; Ctrl+Enter sends the form that is open; j and k
// move along the list. The list of keys is holdfast.js's.
help["a / d"] = "approve, deny";
help["Ctrl+Enter"] = "send the open form";
function moveInbox(step) {
  const links = [...document.querySelectorAll(".inbox-list a")].filter((each) => each.checkVisibility());
  const chosen = links.indexOf(document.activeElement) + 1 || links.findIndex((each) => each.ariaCurrent) + 1;
  links[Math.max(0, Math.min(links.length - 1, chosen - 1 + step))]?.focus();
}
document.addEventListener("keydown", (event) => {
  const open = document.querySelector(".decide details.asking[open] form");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && open) return open.requestSubmit();
  if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "j" || event.key === "k") return moveInbox(event.key === "j" ? 1 : -1);
  const wanted = { a: "/approve", d: "/deny" }[event.key];
  const card = document.querySelector(".decide");
  const form = wanted && card?.checkVisibility() && [...card.querySelectorAll("form")].find((each) => each.action.endsWith(wanted));
  if (!form) return;
  event.preventDefault();
  form.closest("details").open = true;
});

// -- approving together: how many are ticked, and one dialog that names them; without it, a page does ------------------------
function tellTicked() {
  const form = byId("ticked");
  if (!form) return;
  const ticked = document.querySelectorAll(".tickable input:checked").length;
  form.querySelector(".chosen-count").textContent = ticked ? `${ticked} ticked` : "Tick those to approve together.";
  form.querySelector("button").disabled = !ticked;
}
document.addEventListener("change", (event) => event.target.matches(".tickable input") && tellTicked());
document.addEventListener("holdfast:swapped", tellTicked);
tellTicked();
document.addEventListener("submit", async (event) => {
  if (event.target.id !== "ticked") return;
  event.preventDefault();
  const asked = new URLSearchParams(new FormData(event.target));
  const address = `${event.target.action}?${asked}`;
  const answer = await fetch(`${address}&panel=together`).catch(() => null);
  if (!answer?.ok || answer.redirected) return location.assign(address);
  const dialog = byId("approve-together");
  dialog.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.children);
  dialog.showModal();
  dialog.querySelector("input:not([type=hidden]), a")?.focus();
});
document.addEventListener("click", (event) => {
  const dialog = event.target.closest("#approve-together");
  if (!dialog || !event.target.closest(".back-to-list")) return;
  event.preventDefault();
  dialog.close();
});
