// Keys of the card: a approves, d denies, each after its form has been answered; Ctrl+Enter sends the form that is open.
document.addEventListener("keydown", (event) => {
  const open = document.querySelector(".decide details.asking[open] form");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && open) return open.requestSubmit();
  if (localStorage.getItem("holdfast-keys") === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const wanted = { a: "/approve", d: "/deny" }[event.key];
  const card = document.querySelector(".decide");
  const form = wanted && card?.checkVisibility() && [...card.querySelectorAll("form")].find((each) => each.action.endsWith(wanted));
  if (!form) return;
  event.preventDefault();
  form.closest("details").open = true;
});
