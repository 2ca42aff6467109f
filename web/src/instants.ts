// SPDX-License-Identifier: MIT
// instants: times of a run, in the format of the address and in a readable format.

import { formatDuration } from "./format";
import { readSetting } from "./settings";

// Wall clock at 0 ns of the current recording; null: not known.
let originUnixNs: number | null = null;

export function setOrigin(unixNs: number | null): void {
  originUnixNs = unixNs;
}

export function formatInstant(ns: number): string {
  const clock = readSetting("clock");
  if (clock === "since start" || originUnixNs === null) return formatDuration(ns);
  const date = new Date((originUnixNs + ns) / 1e6);
  return clock === "UTC" ? date.toISOString().slice(11, 23) : date.toLocaleTimeString("en-GB", { hour12: false }) + "." + String(date.getMilliseconds()).padStart(3, "0");
}

// In seconds, with as many decimal places as the step needs.
function formatExactly(ns: number, stepNs: number): string {
  const places = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(stepNs) - 1e-9)));
  const clock = readSetting("clock");
  if (clock === "since start" || originUnixNs === null) {
    const minutes = Math.floor(ns / 60e9);
    return minutes === 0 ? `${(ns / 1e9).toFixed(places)} s` : `${minutes}m${((ns - minutes * 60e9) / 1e9).toFixed(places)}s`;
  }
  const fraction = (((originUnixNs % 1e9) + ns) % 1e9) / 1e9;
  return formatInstant(ns).slice(0, 8) + fraction.toFixed(places).slice(1);
}

// Labels of a scale: all are different, even if the times are close.
export function formatInstants(times: readonly number[]): string[] {
  const texts = times.map(formatInstant);
  const steps = times.slice(1).map((ns, index) => ns - (times[index] as number));
  return new Set(texts).size === texts.length ? texts : times.map((ns) => formatExactly(ns, Math.min(...steps)));
}

const UNITS: Record<string, number> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9, d: 86400e9 };

// "0.5", "100ms", "4m12s" or "30%" in nanoseconds since the start; undefined: something else.
export function parseInstant(text: string | undefined, durationNs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^[\d.]+$/.test(text)) return Number(text) * 1e9;
  if (/^[\d.]+\s*%$/.test(text)) return (parseFloat(text) / 100) * durationNs;
  const pieces = [...text.matchAll(/([\d.]+)\s*(ns|us|µs|ms|s|m|h|d)/g)];
  if (pieces.length === 0 || pieces.map((piece) => piece[0]).join("").length !== text.replace(/\s/g, "").length) return undefined;
  return pieces.reduce((sum, [, value, unit]) => sum + Number(value) * (UNITS[unit as string] as number), 0);
}

// In seconds, as every command accepts them, exact to the nanosecond.
export function instantText(ns: number): string {
  return (Math.round(Math.max(0, ns)) / 1e9).toFixed(9).replace(/\.?0+$/, "");
}
