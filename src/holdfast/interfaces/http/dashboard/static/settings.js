// Appearance: kept in this browser and nowhere else.
const appearance = document.querySelector(".appearance");
if (appearance) {
  const said = document.getElementById("appearance-said");
  appearance.hidden = false;
  appearance.elements.theme.value = localStorage.getItem("holdfast-theme") ?? "system";
  appearance.elements.keys.checked = localStorage.getItem("holdfast-keys") !== "off";
  appearance.addEventListener("change", () => {
    const theme = appearance.elements.theme.value;
    if (theme === "system") {
      localStorage.removeItem("holdfast-theme");
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem("holdfast-theme", theme);
      document.documentElement.dataset.theme = theme;
    }
    localStorage.setItem("holdfast-keys", appearance.elements.keys.checked ? "on" : "off");
    said.textContent = "Kept in this browser.";
  });
}
