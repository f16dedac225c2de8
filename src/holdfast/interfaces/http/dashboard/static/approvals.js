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
