// SPDX-License-Identifier: MIT
// call_tree: the tree behind the flame graph as lines that unfold, heaviest callee first.

import { useMemo, useState } from "preact/hooks";
import { toView } from "../address";
import type { PageProps } from "../app";
import type { TreeRow, Unit } from "../flame";
import { baseName, formatBytes, formatCount, formatShare, shortName } from "../format";
import { Link } from "../link";
import { Notice } from "../notice";
import { choiceOf, labelOf, TreeForm, useTree } from "../tree";

const MIN_SHARE = "0.1%";

interface Lines {
  children: ReadonlyMap<number | null, readonly TreeRow[]>;
  open: ReadonlySet<number>;
  toggle: (id: number) => void;
  unit: Unit;
  all: number;
  address: PageProps["address"];
}

// The way that has more than half of everything is open from the start.
function heavyPath(rows: readonly TreeRow[], unit: Unit): Set<number> {
  const all = rows[0]?.[unit] ?? 0;
  return new Set(rows.filter((row) => row[unit] * 2 > all || row.parent_node_id === null).map((row) => row.node_id));
}

function Line({ row, lines }: { row: TreeRow; lines: Lines }) {
  const children = lines.children.get(row.node_id) ?? [];
  const isOpen = lines.open.has(row.node_id);
  return (
    <>
      <tr>
        <td class="number">{formatBytes(row.bytes)}</td>
        <td class="number">{formatCount(row.blocks)}</td>
        <td class="number">{formatShare(row[lines.unit] / (lines.all || 1))}</td>
        <td class="number">{row[lines.unit === "bytes" ? "self_bytes" : "self_blocks"] > 0 ? (lines.unit === "bytes" ? formatBytes(row.self_bytes) : formatCount(row.self_blocks)) : ""}</td>
        {row.change !== undefined && <td class="number">{(row.change > 0 ? "+" : "") + (lines.unit === "bytes" ? formatBytes(row.change) : formatCount(row.change))}</td>}
        <td style={{ paddingLeft: `${10 + Math.min(row.depth, 60) * 12}px` }}>
          {children.length > 0 ? (
            <button type="button" class="twisty" aria-expanded={isOpen} aria-label={`what ${row.function ?? "it"} calls`} onClick={() => lines.toggle(row.node_id)}>
              {isOpen ? "▾" : "▸"}
            </button>
          ) : (
            <span class="twisty" />
          )}
          {row.function && row.depth > 0 ? <Link to={toView(lines.address, "callers", { argument: row.function })}>{shortName(row.function)}</Link> : (row.function ?? "?")} <span class="where">{row.module ? baseName(row.module) : ""}</span>
        </td>
      </tr>
      {isOpen && children.map((child) => <Line key={child.node_id} row={child} lines={lines} />)}
    </>
  );
}

export function CallTree({ address }: PageProps) {
  const { unit, instants } = choiceOf(address);
  const answer = useTree(address, MIN_SHARE);
  const rows = answer.data ?? [];
  const [toggled, setToggled] = useState<ReadonlySet<number>>(new Set());
  const children = useMemo(() => grouped(rows, unit), [answer.data, unit]);
  const open = useMemo(() => {
    const ids = heavyPath(rows, unit);
    toggled.forEach((id) => (ids.has(id) ? ids.delete(id) : ids.add(id)));
    return ids;
  }, [rows, unit, toggled]);
  const toggle = (id: number) => setToggled(new Set(toggled.has(id) ? [...toggled].filter((one) => one !== id) : [...toggled, id]));
  const root = rows[0];
  return (
    <section aria-busy={answer.isLoading} class={answer.isLoading ? "stale" : ""}>
      <form class="controls" onSubmit={(event) => event.preventDefault()}>
        <TreeForm address={address} />
      </form>
      {root ? (
        <div class="table-box" tabIndex={0} role="region" aria-label="call tree">
          <table class="call-tree">
            <caption class="hidden">call tree: {labelOf(address)}</caption>
            <thead>
              <tr>
                {["bytes", "blocks", "share", "its own", ...(instants ? ["change"] : [])].map((title) => (
                  <th key={title} scope="col" class="number">
                    {title}
                  </th>
                ))}
                <th scope="col">function</th>
              </tr>
            </thead>
            <tbody>
              <Line row={root} lines={{ children, open, toggle, unit, all: root[unit], address }} />
            </tbody>
          </table>
        </div>
      ) : (
        <Notice answer={answer} empty={`no stack has anything: ${labelOf(address)}`} />
      )}
    </section>
  );
}

function grouped(rows: readonly TreeRow[], unit: Unit): Map<number | null, TreeRow[]> {
  const groups = new Map<number | null, TreeRow[]>();
  for (const row of rows) {
    const siblings = groups.get(row.parent_node_id);
    if (siblings) siblings.push(row);
    else groups.set(row.parent_node_id, [row]);
  }
  groups.forEach((siblings) => siblings.sort((a, b) => b[unit] - a[unit]));
  return groups;
}
