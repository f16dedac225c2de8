// Before the first paint: how pages are to look in this browser. Other open pages follow at once.
function applyAppearance() {
  const data = document.documentElement.dataset;
  const kept = (name, ...values) => values.find((each) => each === localStorage.getItem(`holdfast-${name}`));
  for (const [name, value] of Object.entries({ theme: kept("theme", "light", "dark"), density: kept("density", "compact"), zone: kept("zone", "utc") })) {
    if (value) data[name] = value;
    else delete data[name];
  }
}
applyAppearance();
document.documentElement.classList.add("js");
addEventListener("storage", () => {
  applyAppearance();
  document.dispatchEvent(new Event("holdfast:appearance"));
});
