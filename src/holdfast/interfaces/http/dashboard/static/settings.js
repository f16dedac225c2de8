// Appearance: kept in this browser and nowhere else.
const appearance = document.querySelector(".appearance");
if (appearance) {
  const said = document.getElementById("appearance-said");
  const usual = { theme: "system", density: "roomy", zone: "local" };
  appearance.hidden = false;
  document.getElementById("own-zone").textContent = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "local";
  for (const [name, value] of Object.entries(usual)) appearance.elements[name].value = localStorage.getItem(`holdfast-${name}`) ?? value;
  appearance.elements.keys.checked = localStorage.getItem("holdfast-keys") !== "off";
  appearance.addEventListener("change", () => {
    for (const [name, value] of Object.entries(usual)) {
      const chosen = appearance.elements[name].value;
      if (chosen === value) localStorage.removeItem(`holdfast-${name}`);
      else localStorage.setItem(`holdfast-${name}`, chosen);
    }
    localStorage.setItem("holdfast-keys", appearance.elements.keys.checked ? "on" : "off");
    applyAppearance();
    document.dispatchEvent(new Event("holdfast:appearance"));
    said.textContent = "Kept in this browser.";
  });
}
