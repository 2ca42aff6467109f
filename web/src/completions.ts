// SPDX-License-Identifier: MIT
// completions: suggestions while a filter is typed: names of filters, then words and names of the recording.

import type { Address, Parameter } from "./address";
import { apiAddress, useJson, type FilterParameter, type Row } from "./api";

export interface Completion {
  readonly text: string; // of the whole field
  readonly label: string;
  readonly help: string;
}

const MAX_SHOWN = 12;

export function escapeRegex(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function quoted(name: string, value: string): string {
  const text = name.endsWith("_regex") ? escapeRegex(value) : value;
  return /\s/.test(text) ? `"${text}"` : text;
}

export function useCompletions(text: string, address: Address, known: readonly FilterParameter[]): Completion[] {
  const before = text.slice(0, text.lastIndexOf(" ") + 1);
  const piece = text.slice(before.length).replace(/^--/, "");
  const equals = piece.indexOf("=");
  const typed = piece.slice(equals + 1);
  const filter = equals > 0 ? known.find((p) => p.name === piece.slice(0, equals).replaceAll("-", "_")) : undefined;
  const query: Parameter[] = filter?.has_values ? [["parameter", filter.name], ["part", typed.replaceAll("\\", "")], ["count", String(MAX_SHOWN)]] : [];
  const values = useJson<Row[]>(filter?.has_values ? apiAddress(address.recording, "values", query) : null);
  if (equals < 0) {
    const isWanted = (p: FilterParameter) => p.name.includes(piece.replaceAll("-", "_")) || (p.alias?.includes(piece) ?? false);
    return known.filter(isWanted).slice(0, MAX_SHOWN).map((p) => ({ text: `${before}${p.name}=`, label: `${p.name}=${p.value}`, help: p.help }));
  }
  if (!filter) return [];
  const words = filter.words?.filter((word) => word.includes(typed)).map((value) => ({ value, label: "" }));
  return (words ?? values.data ?? [])
    .map((row) => ({ text: `${before}${filter.name}=${quoted(filter.name, String(row.value))}`, label: String(row.label || row.value), help: "" }))
    .filter((completion) => completion.text !== text);
}
