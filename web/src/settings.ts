// SPDX-License-Identifier: MIT
// settings: the user's choices for this browser: colours, and the format of times.

import { useEffect, useState } from "preact/hooks";

const CHOICES = {
  theme: ["system", "dark", "light"],
  clock: ["since start", "UTC", "local time"],
} as const;

type Name = keyof typeof CHOICES;

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
let listeners: Array<() => void> = [];

export function readSetting(name: Name): string {
  const kept = localStorage.getItem(name);
  return CHOICES[name].find((choice) => choice === kept) ?? CHOICES[name][0];
}

// The choice after the current one.
export function nextChoice(name: Name): string {
  const choices: readonly string[] = CHOICES[name];
  return choices[(choices.indexOf(readSetting(name)) + 1) % choices.length] as string;
}

export function choose(name: Name, value: string): void {
  localStorage.setItem(name, value);
  showTheme();
}

// The style sheet uses one attribute; only this code reads the preference of the system.
export function showTheme(): void {
  const theme = readSetting("theme");
  document.documentElement.dataset.theme = theme === "system" ? (systemIsDark.matches ? "dark" : "light") : theme;
  listeners.forEach((notify) => notify());
}

export function isDark(): boolean {
  return document.documentElement.dataset.theme === "dark";
}

// Changes whenever the page must be drawn again.
export function useSettings(): string {
  const read = () => `${document.documentElement.dataset.theme} ${readSetting("clock")}`;
  const [settings, setSettings] = useState(read);
  useEffect(() => {
    const notify = () => setSettings(read());
    listeners = [...listeners, notify];
    return () => {
      listeners = listeners.filter((l) => l !== notify);
    };
  }, []);
  return settings;
}

systemIsDark.addEventListener("change", showTheme);
