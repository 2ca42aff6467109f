// SPDX-License-Identifier: MIT
// curves: numbers of one process over time, with the filters of the address: for the whole run, or in finer steps for a part of it.

import { useMemo } from "preact/hooks";
import type { Parameter } from "./address";
import { useRows, useSql, type Row } from "./api";
import type { ChartProps, Curve } from "./chart";

export type Range = readonly [fromNs: number, toNs: number];

export function number(row: Row | undefined, column: string): number {
  return Number(row?.[column] ?? 0);
}

const RESIDENT = ["heaps", "mappings", "stacks", "shared", "files"] as const;

// Parts are sampled less often than RSS: each sample without parts has those of the last one before.
function rssStatement(process: number): string {
  const last = (column: string, name: string): string => `max(${column}) OVER (PARTITION BY batch) AS ${name}`;
  return `WITH batches AS (SELECT *, count(heap_resident_bytes) OVER (ORDER BY at_ns) AS batch FROM memory_samples WHERE process_id = ${process})
SELECT at_ns, rss_bytes, ${last("heap_resident_bytes", "heaps")}, ${last("own_mapping_resident_bytes", "mappings")}, ${last("thread_stack_resident_bytes", "stacks")},
  ${last("shared_memory_bytes", "shared")}, ${last("file_resident_bytes", "files")} FROM batches ORDER BY at_ns`;
}

// Cumulative sums up to RSS, so that the areas of the parts are stacked.
function stacked(rows: readonly Row[], columns: readonly string[]): number[][] {
  return columns.map((_, index) => rows.map((row) => Math.min(number(row, "rss_bytes"), columns.slice(0, index + 1).reduce((sum, column) => sum + number(row, column), 0))));
}

const NO_ROWS: Row[] = [];

export interface Curves {
  readonly charts: readonly ChartProps[];
  readonly error: string | undefined;
  readonly isLoading: boolean;
}

// `filters` include the range, if there is one. While the recording grows, it is not known which blocks will be freed.
export function useCurves(recording: string, isGrowing: boolean, process: number, filters: readonly Parameter[]): Curves {
  const asked: Parameter[] = [["process", String(process)], ...filters.filter(([name]) => name !== "process" && name !== "site" && name !== "alive_at")];
  const isPart = filters.some(([name]) => name === "from" || name === "to");
  const timeline = useRows(recording, "timeline", asked);
  const rss = useSql(recording, rssStatement(process));
  const [rows, samples] = [timeline.data ?? NO_ROWS, rss.data ?? NO_ROWS];
  const charts = useMemo(() => {
    const curve = (label: string, values: number[], colour: string, isFilled = false): Curve => ({ label, values, colour, isFilled });
    const take = (column: string) => rows.map((row) => number(row, column));
    const perSecond = (column: string) => rows.map((row) => (number(row, column) * 1e9) / Math.max(1, number(row, "end_ns") - number(row, "start_ns")));
    const base = { timesNs: take("end_ns"), steps: isPart ? ("before" as const) : undefined };
    const made: ChartProps[] = [
      { ...base, title: "Live bytes", help: "requested and not yet freed; the highest within each step", unit: "bytes", curves: [curve("live", take("peak_bytes"), "--blue", true)] },
      { ...base, title: "Live blocks", help: "blocks not yet freed", unit: "count", curves: [curve("blocks", take("live_blocks"), "--green", true)] },
      { ...base, title: "Calls", help: "allocations and frees per second", unit: "per_s", curves: [curve("allocations", perSecond("allocated_blocks"), "--orange"), curve("frees", perSecond("freed_blocks"), "--purple")] },
    ];
    const lost: ChartProps[] = [
      { ...base, title: "Leaked so far", help: "born until then and never freed", unit: "bytes", curves: [curve("leaked", take("leaked_bytes"), "--error", true)] },
    ];
    return rows.length > 0 ? [...made, ...(isGrowing ? [] : lost), ...residentChart(samples, curve)] : [];
  }, [rows, samples, isPart, isGrowing]);
  return { charts, error: timeline.error ?? rss.error, isLoading: timeline.isLoading };
}

function residentChart(samples: readonly Row[], curve: (label: string, values: number[], colour: string, isFilled?: boolean) => Curve): ChartProps[] {
  if (samples.length < 2) return [];
  const [heaps, mappings, stacks, shared, files] = stacked(samples, RESIDENT) as [number[], number[], number[], number[], number[]];
  return [
    {
      title: "Resident memory",
      help: "what RSS consisted of, as the last sample of its parts says; each area includes those below it; what is above them was mapped by system calls and not through libc",
      unit: "bytes",
      steps: "after", // there is no sample in between
      timesNs: samples.map((row) => number(row, "at_ns")),
      curves: [
        curve("all (RSS)", samples.map((row) => number(row, "rss_bytes")), "--quiet", true),
        curve("+ files", files, "--purple", true),
        curve("+ shared memory", shared, "--error", true),
        curve("+ stacks", stacks, "--green", true),
        curve("heaps + own mappings", mappings, "--orange", true),
        curve("heaps", heaps, "--blue", true),
      ],
    },
  ];
}
