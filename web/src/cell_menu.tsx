// SPDX-License-Identifier: MIT
// cell_menu: what a cell of a table leads to: every value that some filter knows can become one.

import { toView, withValues, type Address } from "./address";
import type { Row } from "./api";
import { escapeRegex } from "./completions";
import { baseName, formatCell } from "./format";
import { instantText } from "./instants";
import { openMenuAt, type MenuEntry } from "./menu";
import { Place } from "./table";

// A place without a symbol is shown as module+0x…, which no stack has as a function.
const UNNAMED = /\+0x[0-9a-f]+$/;

function exactly(text: string): string {
  return `^${escapeRegex(text)}$`;
}

function filesOf(address: Address, row: Row): MenuEntry[] {
  const entries: MenuEntry[] = [];
  if (row.source)
    entries.push(
      ["the source file, line by line", toView(address, "lines", { argument: String(row.source) })],
      [`only stacks through ${baseName(String(row.source))}`, withValues(address, { source_regex: exactly(String(row.source)) })],
      [`without stacks through ${baseName(String(row.source))}`, withValues(address, { negative_source_regex: exactly(String(row.source)) })],
    );
  if (row.module) entries.push([`only stacks through ${baseName(String(row.module))}`, withValues(address, { library_regex: exactly(String(row.module)) })]);
  return entries;
}

function placeEntries(address: Address, row: Row): MenuEntry[] {
  const entries: MenuEntry[] = [];
  if (row.call_site_id) entries.push(["only this call site", withValues(address, { site: String(row.call_site_id) })]);
  if (row.function && !UNNAMED.test(String(row.function))) {
    const name = exactly(String(row.function));
    entries.push(
      ["only stacks with this function", withValues(address, { function_regex: name })],
      ["without stacks with this function", withValues(address, { negative_function_regex: name })],
      ["the curves of stacks with it", toView(address, "overview", { function_regex: name })],
      ["its callers and callees", toView(address, "callers", { argument: String(row.function) })],
    );
  }
  return [...entries, ...filesOf(address, row)];
}

function instantEntries(address: Address, value: number): MenuEntry[] {
  const at = instantText(value);
  return [
    ["only what was born from then on", withValues(address, { from: at })],
    ["only what was born until then", withValues(address, { to: at })],
    ["who is alive then", toView(address, "live", { alive_at: at })],
  ];
}

function between(address: Address, names: readonly [string, string], value: string, what: string): MenuEntry[] {
  return [
    [`only ${what}`, withValues(address, { [names[0]]: value, [names[1]]: value })],
    [`only ${what} or more`, withValues(address, { [names[0]]: value })],
    [`only ${what} or less`, withValues(address, { [names[1]]: value })],
  ];
}

const BLOCKS = /^((example|topmost|last)_)?allocation_id$|^(chain|realloc_from)_id$/;
const STACKS = /^((free|first|last|topmost|unmap)_)?backtrace_id$/;

export function entriesOf(address: Address, column: string, row: Row): MenuEntry[] {
  const value = row[column];
  if (value === null || value === undefined) return [];
  const text = String(value);
  if (BLOCKS.test(column)) return [["the life of this block", toView(address, "allocation", { argument: text })]];
  if (STACKS.test(column)) return [["this stack", toView(address, "stack", { argument: text })], ["only blocks allocated with it", withValues(address, { backtrace: text })]];
  switch (column) {
    case "function":
      return placeEntries(address, row);
    case "module":
      return filesOf(address, row);
    case "call_site_id":
      return [["only this call site", withValues(address, { site: text })], ["its stacks", toView(address, "groups", { site: text })]];
    case "process_id":
      return [["only this process", withValues(address, { process: text })]];
    case "thread_id":
    case "free_thread_id":
      return [["only blocks allocated by this thread", withValues(address, { thread: text })]];
    case "kind":
      return row.allocation_id ? [[`only ${text}`, withValues(address, { kind: text })]] : [];
    case "ended_by":
      return [["only what was freed before the end", withValues(address, { lifetime: "only_temporary" })]];
    case "address":
      return [["everything that covered this address", toView(address, "block", { argument: `0x${Number(value).toString(16)}` })]];
    case "size_bytes":
      return between(address, ["size_min", "size_max"], text, formatCell(column, value));
    case "lifetime_ns":
      return between(address, ["lifetime_min", "lifetime_max"], `${text}ns`, formatCell(column, value));
    case "from_bytes":
      return row.to_bytes === undefined || row.call_site_id !== undefined ? [] : [["only blocks of these sizes", toView(address, "groups", { size_min: text, size_max: String(row.to_bytes) })]];
    case "from_ns":
      return row.to_ns === undefined ? [] : [["only blocks that lived so long", toView(address, "groups", { lifetime_min: `${text}ns`, lifetime_max: `${row.to_ns}ns` })]];
    case "leaked_blocks":
    case "leaked_bytes":
      return Number(value) > 0 && row.call_site_id ? [["the leaked blocks", toView(address, "allocations", { site: String(row.call_site_id), lifetime: "only_leaked" })]] : [];
    default:
      return /^((un)?mapped|alloc|free|at|start|end|peak|since|(leaked_)?(first|last))_ns$/.test(column) ? instantEntries(address, Number(value)) : [];
  }
}

// A cell that opens its menu; undefined where nothing can be done with it.
export function makeCell(address: Address) {
  return (column: string, row: Row) => {
    const entries = entriesOf(address, column, row);
    if (entries.length === 0) return undefined;
    const value = row[column] ?? null;
    const title = column === "function" ? String(value) : formatCell(column, value);
    return (
      <button type="button" class="cell" aria-haspopup="menu" title={typeof value === "number" ? String(value) : undefined} onClick={(event) => openMenuAt(event.currentTarget, title, entries)}>
        {column === "function" ? <Place row={row} /> : title}
      </button>
    );
  };
}
