// SPDX-License-Identifier: MIT
// sparkline: a curve as large as a word, and the levels of live bytes that tables draw with it.

import { useMemo } from "preact/hooks";
import { useSql, type Row } from "./api";
import { formatBytes } from "./format";

const [WIDTH, HEIGHT] = [88, 18];

export function Sparkline({ values }: { values: readonly number[] | undefined }) {
  if (!values || values.length < 2) return null;
  const highest = Math.max(1, ...values);
  const points = values.map((value, index) => `${((index / (values.length - 1)) * WIDTH).toFixed(1)},${(HEIGHT - 1 - (value / highest) * (HEIGHT - 3)).toFixed(1)}`);
  return (
    <svg class="sparkline" width={WIDTH} height={HEIGHT} role="img" aria-label={`live bytes over the run, at most ${formatBytes(highest)}`}>
      <path d={`M0,${HEIGHT}L${points.join("L")}L${WIDTH},${HEIGHT}Z`} class="area" />
      <path d={`M${points.join("L")}`} class="line" />
    </svg>
  );
}

function list(rows: readonly Row[], column: string): string {
  return [...new Set(rows.map((row) => row[column]).filter((id) => typeof id === "number"))].join(",");
}

// What each row of the table had live at the regular snapshots; undefined: the table's rows are no places.
export function useLevels(recording: string, rows: readonly Row[]): ((row: Row) => readonly number[] | undefined) | undefined {
  const first = rows[0];
  const column = first?.backtrace_id !== undefined ? "backtrace_id" : "call_site_id";
  const ids = first && first[column] !== undefined && first.process_id !== undefined && first.allocation_id === undefined && first.mmap_id === undefined ? list(rows, column) : "";
  const [table, level] = column === "backtrace_id" ? ["snapshot_backtraces", "live_bytes"] : ["snapshot_sites", "change_bytes"];
  const changes = useSql(recording, ids && `SELECT n.process_id, s.${column} AS id, s.snapshot_id, s.${level} AS level FROM ${table} AS s JOIN snapshots AS n USING (snapshot_id) WHERE n.reason = 'regular' AND s.${column} IN (${ids}) ORDER BY s.snapshot_id` || null);
  const snapshots = useSql(recording, ids && "SELECT process_id, snapshot_id FROM snapshots WHERE reason = 'regular' ORDER BY at_ns" || null);
  return useMemo(() => {
    if (!ids || !changes.data || !snapshots.data) return undefined;
    const byRow = new Map<string, Map<number, number>>();
    for (const { process_id, id, snapshot_id, level: value } of changes.data) {
      const key = `${process_id} ${id}`;
      if (!byRow.has(key)) byRow.set(key, new Map());
      byRow.get(key)?.set(Number(snapshot_id), Number(value));
    }
    return (row: Row) => levelsOf(byRow.get(`${row.process_id} ${row[column]}`), snapshots.data?.filter((s) => s.process_id === row.process_id) ?? [], column === "call_site_id");
  }, [ids, changes.data, snapshots.data]);
}

function levelsOf(changes: ReadonlyMap<number, number> | undefined, snapshots: readonly Row[], areDifferences: boolean): number[] {
  let level = 0;
  return snapshots.map((snapshot) => {
    const value = changes?.get(Number(snapshot.snapshot_id));
    if (value !== undefined) level = areDifferences ? level + value : value;
    return level;
  });
}
