// SPDX-License-Identifier: MIT
// format: makes raw numbers readable, using the unit at the end of a column name.

import type { Cell, Row } from "./api";
import { formatInstant } from "./instants";

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function formatBytes(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1023.95 && unit < SIZES.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 1000 ? 0 : 1;
  return `${bytes < 0 ? "−" : ""}${value.toFixed(digits)} ${SIZES[unit]}`;
}

export function formatDuration(ns: number): string {
  const size = Math.abs(ns);
  if (size === 0) return "0 s";
  if (size < 1e3) return `${ns} ns`;
  if (size < 1e6) return `${trim(ns / 1e3)} µs`;
  if (size < 1e9) return `${trim(ns / 1e6)} ms`;
  if (size < 60e9) return `${trim(ns / 1e9)} s`;
  const seconds = Math.round(ns / 1e9);
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days) return `${days}d${hours}h`;
  return hours ? `${hours}h${minutes}m` : `${minutes}m${seconds % 60}s`;
}

function trim(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function formatCount(count: number): string {
  return count.toLocaleString("en-US").replace("-", "−");
}

export function formatBlocks(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "block" : "blocks"}`;
}

export function formatShare(share: number): string {
  const percent = Math.abs(share) * 100;
  const sign = share < 0 ? "−" : "";
  // Shows "100 %" or "0 %" only if that is exact.
  if (percent > 0 && percent < 0.1) return `${sign}<0.1 %`;
  if (percent < 100 && percent >= 99.95) return `${sign}99.9 %`;
  return `${sign}${percent < 9.95 || (percent > 99 && percent < 100) ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

export function formatAddress(address: number): string {
  return "0x" + address.toString(16);
}

export type Kind = "bytes" | "instant" | "time" | "share" | "count" | "id" | "address" | "flag" | "text";

// The kind of values in a column, by its name; names of docs/glossary.md end with their unit.
export function kindOf(name: string): Kind {
  const column = name.replace(/_margin$/, "");
  if (/_per_s$/.test(column)) return "bytes";
  if (/(^|_)bytes$/.test(column)) return "bytes";
  if (/_unix_ns$/.test(column)) return "text";
  if (/^((un)?mapped|(un)?loaded|alloc|free|at|start|end|(own_)?peak|since|until|((all|leaked)_)?(first|last))_ns$/.test(column)) return "instant";
  if (/_ns$/.test(column)) return "time";
  if (/share/.test(column)) return "share";
  if (/^address$|_address$/.test(column)) return "address";
  if (/_id$|^pid$|^tid$|^line$/.test(column)) return "id";
  if (/^is_/.test(column)) return "flag";
  if (/(blocks|allocations|frees|reallocs|stacks|threads|calls|events|samples|frames|failures|turnover|pages|pages_to_\d+|chains?|holes|moves|level|pieces|position|depth|length)$/.test(column)) return "count";
  return "text";
}

export function formatCell(column: string, value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return value;
  if (column.endsWith("_margin")) return "± " + formatCell(column.slice(0, -"_margin".length).replace(/^change_/, ""), Math.round(value));
  if (column.startsWith("change_") && value > 0) return "+" + formatCell(column.slice("change_".length), value);
  switch (kindOf(column)) {
    case "bytes":
      if (/_per_s$/.test(column)) return value > 0 && value < 1 ? formatBytes(Math.trunc(3600 * value)) + "/h" : formatBytes(Math.trunc(value)) + "/s";
      return formatBytes(value);
    case "instant":
      return formatInstant(value);
    case "time":
      return formatDuration(value);
    case "share":
      return formatShare(value);
    case "address":
      return formatAddress(value);
    case "flag":
      return value ? "yes" : "no";
    case "count":
      return formatCount(value);
    case "id":
      return String(value);
    default:
      return Number.isInteger(value) ? formatCount(value) : String(Math.round(value * 1000) / 1000);
  }
}

export function isNumeric(column: string): boolean {
  return kindOf(column) !== "text";
}

// "leaked_bytes" as a heading: "leaked bytes", without the unit that the cells show.
export function heading(column: string): string {
  return column.replace(/_ns$/, "").replace(/^call_site_id$/, "site").replace(/^backtrace_id$/, "stack").replaceAll("_", " ");
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

// Template arguments are long and tell little, so they are shortened: std::vector<…>::push_back.
export function shortName(name: string): string {
  let depth = 0;
  let out = "";
  for (const letter of name) {
    if (letter === "<") depth++ === 0 && (out += "<…");
    if (depth === 0) out += letter;
    if (letter === ">" && depth > 0) --depth === 0 && (out += ">");
  }
  return depth === 0 ? out : name;
}

// For a sentence: without the text in <> and without a long list of parameters.
export function spokenName(name: string): string {
  return shortName(name).replace(/\([^()]{24,}.*\)( const)?$/, "(…)$1");
}

// "function (file.c:12)" of a row that names a place in the code.
export function placeOf(row: Row): string {
  const name = spokenName(String(row.function ?? (row.module ? baseName(String(row.module)) : "an unknown function")));
  return row.source ? `${name} (${baseName(String(row.source))}:${row.line})` : name;
}
