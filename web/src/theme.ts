// SPDX-License-Identifier: MIT
// theme: dark or light, as the system says or as the person chose; remembered in the browser.

export type Theme = "system" | "light" | "dark";

export function readTheme(): Theme {
  const kept = localStorage.getItem("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem("theme");
  else localStorage.setItem("theme", theme);
  showTheme(theme);
}

export function showTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function isDark(): boolean {
  const theme = document.documentElement.dataset.theme;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}
