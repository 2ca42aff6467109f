// SPDX-License-Identifier: MIT
// sql_result: the rows of a statement as a table, as curves over their first column, as bars, or as a flame graph of stacks.

import { useMemo } from "preact/hooks";
import type { Cell, Row } from "./api";
import { Bars } from "./bars";
import { Chart, type Curve } from "./chart";
import { layOut, type TreeRow } from "./flame";
import { FlameCanvas } from "./flame_canvas";
import { formatCell, heading, kindOf } from "./format";
import { isDark } from "./settings";
import { Table } from "./table";

export const SHAPES = ["table", "curve", "bars", "flame graph"] as const;
export type Shape = (typeof SHAPES)[number];

const COLOURS = ["--blue", "--orange", "--green", "--purple", "--error"];
const MAX_BARS = 100;

function isNumber(value: Cell | undefined): value is number {
  return typeof value === "number";
}

function numbersIn(rows: readonly Row[]): string[] {
  return Object.keys(rows[0] ?? {}).filter((column) => rows.some((row) => isNumber(row[column])));
}

function CurveResult({ rows }: { rows: readonly Row[] }) {
  const made = useMemo(() => {
    const [x, ...ys] = numbersIn(rows);
    if (!x || ys.length === 0) return undefined;
    const sorted = rows.filter((row) => isNumber(row[x])).sort((a, b) => Number(a[x]) - Number(b[x]));
    const times = sorted.map((row) => Number(row[x]));
    const curves = ys.slice(0, COLOURS.length).map((y, index): Curve => ({ label: heading(y), colour: COLOURS[index] as string, values: sorted.map((row) => (isNumber(row[y]) ? (row[y] as number) : null)) }));
    return { x, times, curves, unit: ys.every((y) => kindOf(y) === "bytes") ? ("bytes" as const) : ("count" as const) };
  }, [rows]);
  if (!made) return <p class="notice">A curve needs two columns with numbers: the first is its time.</p>;
  return <Chart title={`over ${heading(made.x)}`} help="" timesNs={made.times} curves={made.curves} unit={made.unit} range={[made.times[0] ?? 0, made.times.at(-1) ?? 1]} onSelect={() => {}} onInstant={() => {}} />;
}

function BarsResult({ rows }: { rows: readonly Row[] }) {
  const columns = Object.keys(rows[0] ?? {});
  const value = numbersIn(rows).find((column) => kindOf(column) !== "id");
  const label = columns.find((column) => rows.some((row) => typeof row[column] === "string")) ?? columns.find((column) => column !== value);
  if (!value || !label) return <p class="notice">Bars need a column with numbers.</p>;
  const bars = rows.slice(0, MAX_BARS).map((row) => ({ label: formatCell(label, row[label] ?? null), value: Number(row[value] ?? 0), text: formatCell(value, row[value] ?? null) }));
  return <Bars title={`${heading(value)} by ${heading(label)}`} bars={bars} />;
}

// "main;parse;malloc" and a weight, as flamegraph.pl has it.
function treeOf(rows: readonly Row[], stack: string, weight: string): TreeRow[] {
  const tree: TreeRow[] = [{ node_id: 0, parent_node_id: null, depth: 0, bytes: 0, blocks: 0, self_bytes: 0, self_blocks: 0, function: "all", module: null }];
  const ids = new Map<string, number>();
  for (const row of rows) {
    const amount = Math.max(0, Number(row[weight] ?? 0));
    let [path, parent] = ["", 0];
    (tree[0] as TreeRow).bytes += amount;
    for (const [depth, name] of String(row[stack] ?? "").split(";").entries()) {
      path += `;${name}`;
      const id = ids.get(path) ?? tree.push({ node_id: tree.length, parent_node_id: parent, depth: depth + 1, bytes: 0, blocks: 0, self_bytes: 0, self_blocks: 0, function: name, module: null }) - 1;
      ids.set(path, id);
      (tree[id] as TreeRow).bytes += amount;
      parent = id;
    }
  }
  return tree;
}

function FlameResult({ rows }: { rows: readonly Row[] }) {
  const stack = Object.keys(rows[0] ?? {}).find((column) => rows.some((row) => String(row[column]).includes(";")));
  const weight = numbersIn(rows).find((column) => kindOf(column) !== "id");
  const nodes = useMemo(() => (stack && weight ? layOut(treeOf(rows, stack, weight), "bytes", isDark()) : []), [rows]);
  if (nodes.length === 0) return <p class="notice">A flame graph needs a column with stacks, as "main;parse;malloc", and one with a number.</p>;
  return <FlameCanvas nodes={nodes} unit={kindOf(weight ?? "") === "bytes" ? "bytes" : "blocks"} search="" label="flame graph of the answer" onOpen={() => {}} />;
}

export function SqlResult({ rows, shape }: { rows: readonly Row[]; shape: Shape }) {
  if (shape === "curve") return <CurveResult rows={rows} />;
  if (shape === "bars") return <BarsResult rows={rows} />;
  if (shape === "flame graph") return <FlameResult rows={rows} />;
  return <Table rows={rows} columns={Object.keys(rows[0] ?? {})} caption="answer" cell={(column, row) => String(row[column] ?? "NULL")} />;
}
