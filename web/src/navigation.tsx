// SPDX-License-Identifier: MIT
// navigation: the list of all views; in narrow windows it opens by a button.

import { useEffect, useState } from "preact/hooks";
import { formatAddress, toView, type Address } from "./address";
import { useSql, type Meta } from "./api";
import { Link } from "./link";

// What few programs have, as rows of what; without it the link would lead nowhere.
const NEEDS: Record<string, string> = {
  "by-group": "allocation_groups",
  "by-tag": "allocation_group_tags",
  "by-pool": "pools",
  phases: "phases",
  windows: "windows WHERE started_by IS NOT 'start' OR end_ns IS NOT NULL",
  objects: "object_walks",
  unclaimed: "unclaimed_totals",
  "claimed-twice": "object_claims WHERE is_repeated",
  "spare-capacity": "object_nodes WHERE kind = 'unused_capacity'",
  "object-growth": "object_walks GROUP BY process_id HAVING count(*) > 1",
};
const IS_SAMPLED = "EXISTS (SELECT 1 FROM processes WHERE sample_bytes > 0) AS is_sampled";
const PRESENT = `SELECT ${[...Object.entries(NEEDS).map(([view, rows]) => `EXISTS (SELECT 1 FROM ${rows}) AS "${view}"`), IS_SAMPLED].join(", ")}`;

// In the order of a search: what was lost, who holds memory, what the program charges to whom, who is busy, how the heaps look, single blocks.
const GROUPS: ReadonlyArray<readonly [title: string, views: readonly string[]]> = [
  ["Run", ["overview", "processes", "threads", "diff"]],
  ["Leaks", ["leaks", "leaks-by-stack", "growth"]],
  ["Memory", ["flamegraph", "tree", "peak", "live", "groups"]],
  ["Program", ["by-group", "by-tag", "by-pool", "phases", "windows"]],
  ["Objects", ["objects", "unclaimed", "claimed-twice", "spare-capacity", "object-growth"]],
  ["Churn", ["temporary", "hot", "reallocs", "flows"]],
  ["Code", ["by-function", "by-module", "callers", "lines"]],
  ["Heaps", ["fragmentation", "pinning", "holes", "heap-map", "mmaps", "mallopts"]],
  ["Blocks", ["allocations", "block", "realloc-chains", "size-histogram", "lifetime-histogram", "allocation-failures"]],
  ["Data", ["sql", "unwind-quality"]],
];

const TITLES: Record<string, string> = {
  flamegraph: "flame graph",
  tree: "call tree",
  callers: "callers and callees",
  lines: "source file",
  block: "block and address",
  mmaps: "mappings",
  "by-function": "functions",
  "by-module": "modules",
  "by-group": "allocation groups",
  "by-tag": "tags of groups",
  "by-pool": "pools",
  unclaimed: "claimed by none",
  peak: "at the peak",
  live: "at a time",
  sql: "SQL",
  groups: "stacks",
  diff: "compare",
  "realloc-chains": "realloc chains",
  "unwind-quality": "quality of stacks",
};

export function titleOf(view: string): string {
  return TITLES[view] ?? view.replaceAll("-", " ");
}

export function Navigation({ address, meta }: { address: Address; meta: Meta }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [formatAddress(address)]);
  const present = useSql(address.recording, address.recording ? PRESENT : null).data?.[0];
  const commandOf = (view: string) => meta.commands.find((command) => command.name === view);
  const isAnswered = (view: string) => present?.["is_sampled"] !== 1 || commandOf(view)?.takes_samples !== false;
  const isOffered = (view: string) => (!(view in NEEDS) || present?.[view] === 1) && isAnswered(view);
  const groups = GROUPS.map(([title, views]) => [title, views.filter(isOffered)] as const).filter(([, views]) => views.length > 0);
  const help = (view: string) => commandOf(view)?.help;
  return (
    <nav class={isOpen ? "views open" : "views"} aria-label="views">
      <button type="button" class="views-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        ☰ {titleOf(address.view)}
      </button>
      {groups.map(([title, views]) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          {views.map((view) => (
            <Link key={view} to={toView(address, view)} current={address.view === view} title={help(view)}>
              {titleOf(view)}
            </Link>
          ))}
        </section>
      ))}
    </nav>
  );
}
