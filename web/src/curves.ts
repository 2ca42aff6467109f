// SPDX-License-Identifier: MIT
// curves: the figures over time of one process: totals of the whole run, and single events of a part of it.

import { useMemo } from "preact/hooks";
import { useRows, useSql, type Row } from "./api";
import type { ChartProps, Curve } from "./chart";

export type Range = readonly [fromNs: number, toNs: number];

// A part of the run so small that the buckets of the timeline are coarse in it is asked for again, in so many steps.
const FINE_STEPS = 1500;
const FEW_BUCKETS = 300;

export function number(row: Row | undefined, column: string): number {
  return Number(row?.[column] ?? 0);
}

interface Levels {
  times: number[];
  live: number[];
  blocks: number[];
  allocations: number[]; // per second
  frees: number[];
  isStepped: boolean;
}

function coarseLevels(rows: readonly Row[]): Levels {
  const take = (column: string) => rows.map((row) => number(row, column));
  const perSecond = (column: string) => rows.map((row) => (number(row, column) * 1e9) / Math.max(1, number(row, "end_ns") - number(row, "start_ns")));
  return { times: take("end_ns"), live: take("peak_bytes"), blocks: take("live_blocks"), allocations: perSecond("allocated_blocks"), frees: perSecond("freed_blocks"), isStepped: false };
}

// Births and ends by step: one row for each step in which there were any.
function fineStatement(process: number, start: number, end: number, step: number): string {
  const of = (time: string) => `${time} >= ${start} AND ${time} < ${end} AND process_id = ${process} GROUP BY 1`;
  return `SELECT step, sum(born) AS born, sum(born_bytes) AS born_bytes, sum(ended) AS ended, sum(ended_bytes) AS ended_bytes FROM (
  SELECT (alloc_ns - ${start}) / ${step} AS step, count(*) AS born, sum(size_bytes) AS born_bytes, 0 AS ended, 0 AS ended_bytes FROM allocations WHERE ${of("alloc_ns")}
  UNION ALL
  SELECT (free_ns - ${start}) / ${step}, 0, 0, count(*), sum(size_bytes) FROM allocations WHERE ${of("free_ns")})
GROUP BY step ORDER BY step`;
}

function fineLevels(rows: readonly Row[], start: number, step: number, steps: number, liveBytes: number, liveBlocks: number): Levels {
  const levels: Levels = { times: [], live: [], blocks: [], allocations: [], frees: [], isStepped: true };
  const byStep = new Map(rows.map((row) => [number(row, "step"), row]));
  for (let i = 0; i < steps; i++) {
    const row = byStep.get(i);
    liveBytes += number(row, "born_bytes") - number(row, "ended_bytes");
    liveBlocks += number(row, "born") - number(row, "ended");
    levels.times.push(start + (i + 1) * step);
    levels.live.push(liveBytes);
    levels.blocks.push(liveBlocks);
    levels.allocations.push((number(row, "born") * 1e9) / step);
    levels.frees.push((number(row, "ended") * 1e9) / step);
  }
  return levels;
}

function useLevels(recording: string, process: number, rows: readonly Row[], range: Range, isWhole: boolean): Levels {
  const within = useMemo(() => rows.filter((row) => number(row, "end_ns") > range[0] && number(row, "start_ns") < range[1]), [rows, range[0], range[1]]);
  const start = Math.floor(number(within[0], "start_ns"));
  const end = Math.ceil(number(within.at(-1), "end_ns"));
  const isFine = !isWhole && within.length > 0 && within.length < FEW_BUCKETS;
  const step = Math.max(1, Math.ceil((end - start) / FINE_STEPS));
  const events = useSql(recording, isFine ? fineStatement(process, start, end, step) : null);
  return useMemo(() => {
    if (!isFine || !events.data || events.isLoading) return coarseLevels(within);
    const before = rows[rows.indexOf(within[0] as Row) - 1];
    return fineLevels(events.data, start, step, Math.ceil((end - start) / step), number(before, "live_bytes"), number(before, "live_blocks"));
  }, [within, events.data, events.isLoading, isFine]);
}

// The parts of RSS as the view `summary` has them.
function rssStatement(process: number): string {
  return `WITH parts AS (SELECT at_ns, rss_bytes, file_bytes, min(coalesce(heap_extent_bytes, 0), anonymous_bytes) AS heaps, anonymous_bytes, coalesce(mapped_bytes, 0) AS mapped
  FROM memory_samples WHERE process_id = ${process})
SELECT at_ns, rss_bytes, file_bytes AS files, heaps, min(mapped, anonymous_bytes - heaps) AS mappings FROM parts ORDER BY at_ns`;
}

function leakedStatement(process: number): string {
  return `SELECT part, sum(bytes) AS bytes FROM leaked_births WHERE process_id = ${process} GROUP BY part ORDER BY part`;
}

const PARTS = 64; // of leaked_births

function leakedSoFar(rows: readonly Row[], startNs: number, endNs: number): { times: number[]; bytes: number[] } {
  const byPart = new Map(rows.map((row) => [number(row, "part"), number(row, "bytes")]));
  let sum = 0;
  const bytes = Array.from({ length: PARTS }, (_, part) => (sum += byPart.get(part) ?? 0));
  return { times: [startNs, ...bytes.map((_, part) => startNs + ((endNs - startNs) * (part + 1)) / PARTS)], bytes: [0, ...bytes] };
}

// The sums from below, so that the areas of parts lie upon one another.
function stacked(rows: readonly Row[], columns: readonly string[]): number[][] {
  return columns.map((_, index) => rows.map((row) => columns.slice(0, index + 1).reduce((sum, column) => sum + number(row, column), 0)));
}

export function useCurves(recording: string, process: number, range: Range, isWhole: boolean): { charts: ChartProps[]; error: string | undefined; isLoading: boolean } {
  const timeline = useRows(recording, "timeline", [["process", String(process)]]);
  const rss = useSql(recording, rssStatement(process));
  const leaked = useSql(recording, leakedStatement(process));
  const rows = timeline.data ?? [];
  const levels = useLevels(recording, process, rows, range, isWhole);
  const charts = useMemo(() => {
    const curve = (label: string, values: number[], colour: string, isFilled = false): Curve => ({ label, values, colour, isFilled });
    const base = { timesNs: levels.times, isStepped: levels.isStepped };
    const samples = rss.data ?? [];
    const leak = leakedSoFar(leaked.data ?? [], number(rows[0], "start_ns"), number(rows.at(-1), "end_ns"));
    const [heaps, mappings, files] = stacked(samples, ["heaps", "mappings", "files"]) as [number[], number[], number[]];
    const made: ChartProps[] = [
      { ...base, title: "Live bytes", help: "requested and not yet freed; the highest within each step", unit: "bytes", curves: [curve("live", levels.live, "--blue", true)] },
      { ...base, title: "Live blocks", help: "blocks not yet freed", unit: "count", curves: [curve("blocks", levels.blocks, "--green", true)] },
      { ...base, title: "Calls", help: "allocations and frees per second", unit: "per_s", curves: [curve("allocations", levels.allocations, "--orange"), curve("frees", levels.frees, "--purple")] },
      { title: "Leaked so far", help: "born until then and never freed", unit: "bytes", timesNs: leak.times, curves: [curve("leaked", leak.bytes, "--error", true)] },
    ];
    if (samples.length > 1)
      made.push({
        title: "Resident memory", help: "what RSS consisted of; each area includes those below it", unit: "bytes", timesNs: samples.map((row) => number(row, "at_ns")),
        curves: [curve("all (RSS)", samples.map((row) => number(row, "rss_bytes")), "--quiet", true), curve("heaps + mappings + files", files, "--purple", true), curve("heaps + mappings", mappings, "--orange", true), curve("heaps", heaps, "--blue", true)],
      });
    return rows.length > 0 ? made : [];
  }, [levels, rss.data, leaked.data, rows]);
  return { charts, error: timeline.error ?? rss.error ?? leaked.error, isLoading: timeline.isLoading };
}
