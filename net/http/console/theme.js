// Light, dark, or as the system says; kept in this browser.
const THEMES = ["system", "light", "dark"];

export function useThemeButton(button) {
  let theme = "system";
  try { theme = localStorage.getItem("cellar-theme") ?? theme; } catch { /* storage is off */ }
  const apply = () => {
    if (!THEMES.includes(theme)) theme = "system";
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try { localStorage.setItem("cellar-theme", theme); } catch { /* it lasts as long as this page */ }
    apply();
  });
  apply();
}
