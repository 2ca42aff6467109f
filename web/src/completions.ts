// SPDX-License-Identifier: MIT
// completions: what may stand where a filter is being typed: names of filters, then words and names of the recording.

import type { Address } from "./address";
import { useSql, type FilterParameter } from "./api";

export interface Completion {
  readonly text: string; // of the whole field
  readonly label: string;
  readonly help: string;
}

const MAX_SHOWN = 12;

// Where the recording has the values of a filter.
const VALUES: Record<string, string> = {
  kind: "SELECT name AS value, '' AS help FROM kinds ORDER BY name",
  thread: "SELECT coalesce(name, tid) AS value, count(*) || ' threads, ' || sum(allocated_blocks) || ' blocks' AS help FROM threads GROUP BY 1 ORDER BY sum(allocated_blocks) DESC LIMIT 500",
  marker: "SELECT name AS value, count(*) || ' times' AS help FROM markers GROUP BY name LIMIT 500",
  process: "SELECT process_id AS value, executable AS help FROM processes LIMIT 500",
  library_regex: "SELECT path AS value, '' AS help FROM objects WHERE path <> '' LIMIT 500",
  function_regex: "SELECT function AS value, '' AS help FROM by_function WHERE function IS NOT NULL GROUP BY function ORDER BY max(inclusive_allocated_bytes) DESC LIMIT 3000",
  source_regex: "SELECT path AS value, '' AS help FROM sources LIMIT 3000",
};
VALUES.negative_function_regex = VALUES.function_regex as string;
VALUES.negative_source_regex = VALUES.source_regex as string;

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
  const name = piece.slice(0, equals).replaceAll("-", "_");
  const typed = piece.slice(equals + 1).toLowerCase();
  const values = useSql(address.recording, equals > 0 ? (VALUES[name] ?? null) : null);
  if (equals < 0) {
    const isWanted = (p: FilterParameter) => p.name.includes(piece.replaceAll("-", "_")) || (p.alias?.includes(piece) ?? false);
    return known.filter(isWanted).slice(0, MAX_SHOWN).map((p) => ({ text: `${before}${p.name}=`, label: `${p.name}=${p.value}`, help: p.help }));
  }
  return (values.data ?? [])
    .filter((row) => String(row.value).toLowerCase().includes(typed) && quoted(name, String(row.value)) !== piece.slice(equals + 1))
    .slice(0, MAX_SHOWN)
    .map((row) => ({ text: `${before}${name}=${quoted(name, String(row.value))}`, label: String(row.value), help: String(row.help ?? "") }));
}
