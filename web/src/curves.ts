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

// The parts of RSS as the view `summary` has them.
function rssStatement(process: number): string {
  return `WITH parts AS (SELECT at_ns, rss_bytes, file_bytes, min(coalesce(heap_extent_bytes, 0), anonymous_bytes) AS heaps, anonymous_bytes, coalesce(mapped_bytes, 0) AS mapped
  FROM memory_samples WHERE process_id = ${process})
SELECT at_ns, rss_bytes, file_bytes AS files, heaps, min(mapped, anonymous_bytes - heaps) AS mappings FROM parts ORDER BY at_ns`;
}

// Cumulative sums, so that the areas of the parts are stacked.
function stacked(rows: readonly Row[], columns: readonly string[]): number[][] {
  return columns.map((_, index) => rows.map((row) => columns.slice(0, index + 1).reduce((sum, column) => sum + number(row, column), 0)));
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
  const [heaps, mappings, files] = stacked(samples, ["heaps", "mappings", "files"]) as [number[], number[], number[]];
  return [
    {
      title: "Resident memory",
      help: "what RSS consisted of; each area includes those below it",
      unit: "bytes",
      steps: "after", // there is no sample in between
      timesNs: samples.map((row) => number(row, "at_ns")),
      curves: [
        curve("all (RSS)", samples.map((row) => number(row, "rss_bytes")), "--quiet", true),
        curve("heaps + mappings + files", files, "--purple", true),
        curve("heaps + mappings", mappings, "--orange", true),
        curve("heaps", heaps, "--blue", true),
      ],
    },
  ];
}
