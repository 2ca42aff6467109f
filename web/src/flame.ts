// SPDX-License-Identifier: MIT
// flame: the positions of the boxes of a flame graph, and which of them match a name. No drawing.

import { hsl, type Pixel } from "./colours";

export interface FlameNode {
  readonly parent: number; // index into the list; -1: the root
  readonly depth: number;
  readonly value: number;
  readonly name: string;
  readonly module: string;
  readonly kind: number; // the same for all nodes with this name and module; numbered from 0 in order of appearance
  readonly change: number | null; // change of value; null: no comparison
  readonly colour: Pixel;
  start: number; // in units of value, from the left of the root
}

export interface TreeRow {
  node_id: number;
  parent_node_id: number | null;
  depth: number;
  bytes: number;
  blocks: number;
  self_bytes: number;
  self_blocks: number;
  function: string | null;
  module: string | null;
  change?: number;
}

export type Unit = "bytes" | "blocks";

// In the rows, parents precede children, and the children of a node are sorted by weight. They are placed side by side in this order.
export function layOut(rows: readonly TreeRow[], unit: Unit, isDark: boolean): FlameNode[] {
  const indexOf = new Map<number, number>();
  const used: number[] = [];
  const kinds = new Map<string, { kind: number; colour: Pixel }>();
  return rows.map((row, index) => {
    const parent = row.parent_node_id === null ? -1 : (indexOf.get(row.parent_node_id) ?? -1);
    indexOf.set(row.node_id, index);
    const value = Math.max(0, row[unit]);
    const [name, module] = [row.function ?? "", row.module ?? ""];
    const { kind, colour: usual } = remembered(kinds, `${module}\n${name}`, () => ({ kind: kinds.size, colour: colourOf(name, module, isDark) }));
    const colour = row.change === undefined ? usual : changeColour(row.change, value, isDark);
    const node: FlameNode = { parent, depth: row.depth, value, name, module, kind, change: row.change ?? null, colour, start: used[parent] ?? 0 };
    if (parent >= 0) used[parent] = node.start + value;
    used[index] = node.start;
    return node;
  });
}

interface Merged {
  row: TreeRow;
  self: [number, number]; // before, after
  whole: [number, number];
  children: Map<string, Merged>;
}

function take(rows: readonly TreeRow[], unit: Unit, side: 0 | 1, root: Merged): void {
  const merged = new Map<number, Merged>();
  for (const row of rows) {
    const parent = row.parent_node_id === null ? undefined : merged.get(row.parent_node_id);
    const key = `${row.function}\n${row.module}`;
    let node = parent ? parent.children.get(key) : root;
    if (!node) parent?.children.set(key, (node = { row, self: [0, 0], whole: [0, 0], children: new Map() }));
    if (!node) continue;
    if (!parent) node.row = row;
    node.self[side] += unit === "bytes" ? row.self_bytes : row.self_blocks;
    node.whole[side] += row[unit];
    merged.set(row.node_id, node);
  }
}

// Merges two trees. A box is as wide as the larger of the two, so that both decreases and increases are visible.
export function compare(before: readonly TreeRow[], after: readonly TreeRow[], unit: Unit): TreeRow[] {
  const first = before[0] ?? after[0];
  if (!first) return [];
  const root: Merged = { row: first, self: [0, 0], whole: [0, 0], children: new Map() };
  take(before, unit, 0, root);
  take(after, unit, 1, root);
  const rows: TreeRow[] = [];
  const widthOf = new Map<Merged, number>();
  const measure = (node: Merged): number => {
    let width = Math.max(...node.self);
    for (const child of node.children.values()) width += measure(child);
    widthOf.set(node, width);
    return width;
  };
  const put = (node: Merged, parent: number | null, depth: number) => {
    const id = rows.length;
    const width = widthOf.get(node) ?? 0;
    rows.push({ ...node.row, node_id: id, parent_node_id: parent, depth, bytes: width, blocks: width, self_bytes: Math.max(...node.self), self_blocks: Math.max(...node.self), change: node.whole[1] - node.whole[0] });
    [...node.children.values()].sort((a, b) => (widthOf.get(b) ?? 0) - (widthOf.get(a) ?? 0)).forEach((child) => put(child, id, depth + 1));
  };
  measure(root);
  put(root, null, 0);
  return rows;
}

// The result of a search, by kind: trees have many boxes and few names.
export type Found = Uint8Array;

// All nodes again, as one array per field: drawing and searching read contiguous numbers in each frame, not 100,000 objects.
export interface FlameFields {
  readonly kinds: readonly FlameNode[]; // the first node of each kind
  readonly kind: Uint32Array;
  readonly parent: Int32Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly colour: Uint32Array;
}

export function fieldsOf(nodes: readonly FlameNode[]): FlameFields {
  const kinds: FlameNode[] = [];
  for (const node of nodes) kinds[node.kind] ??= node;
  return {
    kinds,
    kind: Uint32Array.from(nodes, (node) => node.kind),
    parent: Int32Array.from(nodes, (node) => node.parent),
    start: Float64Array.from(nodes, (node) => node.start),
    end: Float64Array.from(nodes, (node) => node.start + node.value),
    colour: Uint32Array.from(nodes, (node) => node.colour),
  };
}

// The share of the root that is below a match; nested matches count once.
export function matchedShare({ kind, parent, start, end }: FlameFields, found: Found): number {
  const isUnder = new Uint8Array(kind.length);
  let matched = 0;
  for (let i = 0; i < kind.length; i++) {
    const above = isUnder[parent[i] as number] ?? 0;
    isUnder[i] = above | (found[kind[i] as number] as number);
    if (!above && isUnder[i]) matched += (end[i] as number) - (start[i] as number);
  }
  const all = (end[0] ?? 0) - (start[0] ?? 0);
  return all > 0 ? matched / all : 0;
}

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

// The module determines the hue, so code of one file has one colour. The name makes it slightly lighter or darker.
function colourOf(name: string, module: string, isDark: boolean): Pixel {
  const hue = module ? 15 + (hash(module) % 24) * 15 : 45;
  const light = (isDark ? 30 : 74) + (hash(name) % 9);
  return hsl(hue, isDark ? 38 : 62, light);
}

// Red: grew; blue: shrank. The colour is stronger if the change is a larger part of the box.
function changeColour(change: number, value: number, isDark: boolean): Pixel {
  const part = value > 0 ? Math.min(1, Math.abs(change) / value) : 0;
  const light = isDark ? 24 + 22 * part : 92 - 28 * part;
  return hsl(change >= 0 ? 8 : 215, 10 + 65 * part, light);
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619) >>> 0;
  return value >>> 3;
}
