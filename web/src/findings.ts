// SPDX-License-Identifier: MIT
// findings: sentences that explain the numbers of a run, the gravest first. Each links to the view that is one level deeper.

import { toView, type Address } from "./address";
import type { Row } from "./api";
import { number } from "./curves";
import { baseName, formatBlocks, formatBytes, formatCount, formatShare, spokenName } from "./format";
import { formatInstant, instantText } from "./instants";
import type { MenuEntry } from "./menu";

export interface Finding {
  readonly gravity: "grave" | "notable" | "plain";
  readonly bytes: number; // bytes concerned: of two findings of the same gravity, the larger comes first
  readonly text: string;
  readonly next: readonly MenuEntry[];
}

export interface FirstRows {
  readonly leaks: readonly Row[];
  readonly growth: readonly Row[];
  readonly temporary: readonly Row[];
  readonly peak: readonly Row[];
  readonly pinning: readonly Row[];
  readonly fragmentation: readonly Row[];
  readonly reallocs: readonly Row[];
}

const ORDER = { grave: 0, notable: 1, plain: 2 };
const MIB = 1024 * 1024;

export function placeOf(row: Row): string {
  const name = spokenName(String(row.function ?? (row.module ? baseName(String(row.module)) : "an unknown function")));
  return row.source ? `${name} (${baseName(String(row.source))}:${row.line})` : name;
}

function siteOf(row: Row): Record<string, string | null> {
  return { site: row.call_site_id === null || row.call_site_id === undefined ? null : String(row.call_site_id) };
}

// True if it is a large enough part of the program's peak for a finding of its own.
function isLarge(bytes: number, summary: Row): boolean {
  return bytes > Math.max(64 * 1024, number(summary, "peak_bytes") / 20);
}

const PATTERNS: Record<string, string> = {
  steady: "they came all the time, and go on",
  late: "they came in the second half, and go on",
  burst: "most came at once",
  plateau: "they grew no further",
  "saw tooth": "new ones came in place of old",
  once: "a single block",
};

function madeBy(row: Row): string {
  return `${formatBytes(number(row, "leaked_bytes"))} of it in ${formatBlocks(number(row, "leaked_blocks"))} of ${placeOf(row)}: ${PATTERNS[String(row.pattern)] ?? row.pattern ?? "recorded too seldom to say how it came"}`;
}

function whatIsLeft(summary: Row): string {
  if (summary.end_kind === "exit") return "were never freed";
  if (summary.end_kind === "running") return "are live, and the program still runs";
  if (summary.end_kind === "detached") return "were live when the recording was detached from the program, which went on";
  if (summary.end_kind === "unseen") return "are live where the log stops; whether the program still runs is unknown";
  if (summary.end_kind === "unknown") return "were live when the program ended; how it ended is unknown";
  return `were live when the program ended by ${summary.end_kind ?? "an unknown cause"}`;
}

// Rows are sorted by weight: leaks that continue precede larger ones that do not. The sentence begins with the largest leak.
function leak(address: Address, summary: Row, rows: FirstRows): Finding | undefined {
  const worst = rows.leaks[0];
  const leaked = number(summary, "leaked_bytes") - number(summary, "suppressed_bytes");
  if (!worst || worst.suppressed_by || leaked <= 0) return undefined;
  const largest = rows.leaks.filter((row) => !row.suppressed_by).reduce((most, row) => (number(row, "leaked_bytes") > number(most, "leaked_bytes") ? row : most));
  const goesOn = worst.pattern === "steady" || worst.pattern === "late";
  const isGrave = goesOn && isLarge(number(worst, "leaked_bytes"), summary);
  const last = goesOn ? worst : largest;
  const freed = last.usually_freed_in ? ` Others of its blocks are freed in ${baseName(spokenName(String(last.usually_freed_in)))}.` : "";
  const whole = `${formatBytes(leaked)} ${whatIsLeft(summary)}`;
  return {
    gravity: isGrave ? "grave" : isLarge(leaked, summary) ? "notable" : "plain",
    bytes: leaked,
    text: `${whole}, ${madeBy(largest)}.${goesOn && largest !== worst ? ` What goes on: ${madeBy(worst)}.` : ""}${freed}`,
    next: [["its stacks", toView(address, "leaks-by-stack", siteOf(worst))], ["all leaks", toView(address, "leaks")], ["flame graph of leaks", toView(address, "flamegraph", { measure: "leaked" })]],
  };
}

function growth(address: Address, summary: Row, rows: FirstRows): Finding | undefined {
  const grower = rows.growth[0];
  const grown = number(grower, "grown_bytes");
  if (!grower || grown < number(summary, "peak_bytes") / 100) return undefined;
  const end = number(summary, "duration_ns");
  const rate = number(grower, "bytes_per_s");
  return {
    gravity: isLarge(grown, summary) ? "grave" : "plain",
    bytes: grown,
    text: `${placeOf(grower)} keeps growing: from ${formatBytes(number(grower, "from_bytes"))} to ${formatBytes(number(grower, "to_bytes"))}${rate > 0 ? `, ${formatBytes(rate)} a second` : ""}.`,
    next: [["all that grows", toView(address, "growth")], ["its stacks", toView(address, "groups", siteOf(grower))], ["what changed from 20 % to 95 % of the run", toView(address, "diff", { before: instantText(end * 0.2), then: instantText(end * 0.95) })]],
  };
}

// Blocks above wholly free pages prevent their return; half-empty pages are kept by their own blocks.
function culprits(at: string, summary: Row, rows: FirstRows): string {
  const freePages = number(summary, `heap_at_${at}_free_page_bytes`);
  const holes = number(summary, `heap_at_${at}_hole_bytes`);
  const pin = rows.pinning.find((row) => row.at === at);
  const heap = rows.fragmentation.filter((row) => row.at === at).sort((a, b) => number(b, "free_page_bytes") - number(a, "free_page_bytes"))[0];
  const said: string[] = [];
  if (heap && freePages > holes)
    said.push(`${formatBytes(freePages)} are whole pages: malloc_trim could give them back, free() does not while something lives above them, in heap ${heap.heap_id} a block of ${placeOf(heap)}.`);
  if (pin && number(pin, "would_free_bytes") > holes / 20)
    said.push(`Of the pages in use ${formatCount(number(pin, "pinned_pages"))} hold nothing but ${formatBytes(number(pin, "usable_bytes"))} of ${placeOf(pin)}: without them ${formatBytes(number(pin, "would_free_bytes"))} more could go.`);
  return said.join(" ") || "The pages in between hold blocks of several call sites each.";
}

function fragmentation(address: Address, summary: Row, rows: FirstRows): Finding[] {
  return ["end", "peak"].flatMap((at): Finding[] => {
    const extent = number(summary, `heap_at_${at}_bytes`);
    const unused = number(summary, `heap_at_${at}_hole_bytes`) + number(summary, `heap_at_${at}_free_page_bytes`);
    if (extent < MIB || unused < extent / 4) return [];
    return [
      {
        gravity: unused > extent / 2 && unused > 4 * MIB ? "grave" : "notable",
        bytes: unused,
        text: `Fragmentation: at the ${at} ${formatBytes(unused)} of the heaps' ${formatBytes(extent)} were free below live blocks. ${culprits(at, summary, rows)}`,
        next: [["what pins pages", toView(address, "pinning", { alive_at: at })], ["the heaps as a map", toView(address, "heap-map", { alive_at: at })], ["heap by heap", toView(address, "fragmentation", { alive_at: at })]],
      },
    ];
  });
}

function untrimmed(address: Address, summary: Row): Finding | undefined {
  const [extent, top] = [number(summary, "heap_at_end_bytes"), number(summary, "heap_at_end_top_bytes")];
  // No finding for a program that frees its memory before it exits.
  if (top < 4 * MIB || top < extent / 2 || number(summary, "heap_at_end_live_bytes") < extent / 10) return undefined;
  return {
    gravity: "plain",
    bytes: top,
    text: `At the end ${formatBytes(top)} of the heaps' ${formatBytes(extent)} lay free above the topmost live block: malloc_trim would give them back.`,
    next: [["calls of mallopt and malloc_trim", toView(address, "mallopts")], ["heaps", toView(address, "fragmentation", { alive_at: "end" })]],
  };
}

function temporary(address: Address, summary: Row, rows: FirstRows): Finding | undefined {
  const share = number(summary, "temporary_share");
  const busiest = rows.temporary[0];
  if (share <= 0.25 || !busiest) return undefined;
  return {
    gravity: share > 0.5 ? "notable" : "plain",
    bytes: 0,
    text: `${formatShare(share)} of all allocations are freed at once, most of them by ${placeOf(busiest)}: ${formatCount(number(busiest, "temporary_blocks"))} blocks that need not have been allocated.`,
    next: [["temporary blocks", toView(address, "temporary")], ["flame graph of them", toView(address, "flamegraph", { measure: "temporary", by: "blocks" })]],
  };
}

function copying(address: Address, summary: Row, rows: FirstRows): Finding | undefined {
  const copied = number(summary, "realloc_copied_bytes");
  const worst = rows.reallocs[0];
  if (!worst || copied < MIB || copied < number(summary, "allocated_bytes") / 10) return undefined;
  return {
    gravity: "notable",
    bytes: copied,
    text: `realloc copied ${formatBytes(copied)}, ${formatBytes(number(worst, "copied_bytes"))} of it for ${placeOf(worst)}, whose buffers grow in up to ${formatCount(number(worst, "longest_chain"))} steps.`,
    next: [["reallocs", toView(address, "reallocs")]],
  };
}

function peak(address: Address, summary: Row, rows: FirstRows): Finding | undefined {
  const bytes = number(summary, "peak_bytes");
  const holder = rows.peak[0];
  if (bytes <= 0 || !holder) return undefined;
  const at = number(summary, "peak_ns");
  return {
    gravity: "plain",
    bytes: 0,
    text: `At its peak, at ${formatInstant(at)}, the program held ${formatBytes(bytes)} in ${formatBlocks(number(summary, "peak_blocks"))}; ${placeOf(holder)} had ${formatBytes(number(holder, "bytes"))} of it, ${formatShare(number(holder, "share"))}.`,
    next: [["flame graph of the peak", toView(address, "flamegraph", { measure: "peak" })], ["by call site", toView(address, "peak")]],
  };
}

function trust(address: Address, summary: Row): Finding[] {
  const found: Finding[] = [];
  if (number(summary, "complete_share") < 0.9)
    found.push({ gravity: "notable", bytes: Infinity, text: `Only ${formatShare(number(summary, "complete_share"))} of the allocations have a complete stack.`, next: [["where stacks end", toView(address, "unwind-quality")]] });
  if (number(summary, "failures") > 0)
    found.push({ gravity: "notable", bytes: Infinity, text: `${formatCount(number(summary, "failures"))} allocations failed.`, next: [["failures", toView(address, "allocation-failures")]] });
  return found;
}

function slack(address: Address, summary: Row): Finding | undefined {
  const [lost, allocated] = [number(summary, "slack_bytes"), number(summary, "allocated_bytes")];
  if (lost < MIB || lost < allocated / 5) return undefined;
  return {
    gravity: "plain",
    bytes: 0,
    text: `Blocks are small: rounding their sizes up took ${formatBytes(lost)}, ${formatShare(lost / allocated)} of what was asked for.`,
    next: [["sizes", toView(address, "size-histogram")]],
  };
}

export function findingsOf(address: Address, summary: Row, rows: FirstRows): Finding[] {
  const found = [
    ...trust(address, summary),
    leak(address, summary, rows),
    growth(address, summary, rows),
    ...fragmentation(address, summary, rows),
    copying(address, summary, rows),
    temporary(address, summary, rows),
    peak(address, summary, rows),
    untrimmed(address, summary),
    slack(address, summary),
  ].filter((finding): finding is Finding => finding !== undefined);
  return found.sort((a, b) => ORDER[a.gravity] - ORDER[b.gravity] || (a.bytes === b.bytes ? 0 : b.bytes - a.bytes));
}
