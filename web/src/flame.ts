// SPDX-License-Identifier: MIT
// flame: where the boxes of a flame graph lie, and which of them a name is in. No drawing.

export interface FlameNode {
  readonly id: number;
  readonly parent: number; // index into the list; -1: the root
  readonly depth: number;
  readonly value: number;
  readonly name: string;
  readonly module: string;
  start: number; // in units of value, from the left of the root
}

export interface TreeRow {
  node_id: number;
  parent_node_id: number | null;
  depth: number;
  bytes: number;
  blocks: number;
  function: string | null;
  module: string | null;
}

// Rows come with parents before children. The children of a node lie side by side, heaviest first as they come.
export function layOut(rows: readonly TreeRow[], measure: "bytes" | "blocks"): FlameNode[] {
  const indexOf = new Map<number, number>();
  const used: number[] = [];
  return rows.map((row, index) => {
    const parent = row.parent_node_id === null ? -1 : (indexOf.get(row.parent_node_id) ?? -1);
    indexOf.set(row.node_id, index);
    used.push(0);
    const value = Math.max(0, row[measure]);
    const node: FlameNode = { id: row.node_id, parent, depth: row.depth, value, name: row.function ?? "", module: row.module ?? "", start: used[parent] ?? 0 };
    if (parent >= 0) used[parent] = node.start + value;
    used[index] = node.start;
    return node;
  });
}

// How much of the root lies under a match; nested matches count once.
export function matchedShare(nodes: readonly FlameNode[], isMatch: (node: FlameNode) => boolean): number {
  const isUnder: boolean[] = [];
  let matched = 0;
  nodes.forEach((node, index) => {
    const above = node.parent >= 0 && isUnder[node.parent] === true;
    isUnder[index] = above || isMatch(node);
    if (!above && isUnder[index]) matched += node.value;
  });
  const all = nodes[0]?.value ?? 0;
  return all > 0 ? matched / all : 0;
}

// A hue of the module, so that code of one file is of one colour; a little lighter or darker by name.
export function colourOf(node: FlameNode, isDark: boolean): string {
  const hue = hash(node.module || node.name) % 360;
  const light = (isDark ? 34 : 72) + (hash(node.name) % 9);
  return `hsl(${hue} ${isDark ? 35 : 60}% ${light}%)`;
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619) >>> 0;
  return value;
}
