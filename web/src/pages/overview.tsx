// SPDX-License-Identifier: MIT
// overview: what the run was, what is to be looked at first, and its curves over time.

import { useMemo, useState } from "preact/hooks";
import { toView, valueOf, withValues, go, type Address } from "../address";
import { useRows, type Row } from "../api";
import { Chart, type Curve } from "../chart";
import { formatBytes, formatCount, formatDuration, formatShare, shortName } from "../format";
import { Link } from "../link";
import { Notice } from "../notice";

interface Finding {
  readonly text: string;
  readonly next: string;
  readonly to: Address;
}

function number(row: Row | undefined, column: string): number {
  return Number(row?.[column] ?? 0);
}

function nameOf(row: Row): string {
  return shortName(String(row.function ?? row.module ?? "an unknown function"));
}

// Sentences about one run, the gravest first, each with the view that goes one level deeper.
function findingsOf(address: Address, summary: Row, leaks: readonly Row[], growth: readonly Row[], temporary: readonly Row[]): Finding[] {
  const found: Finding[] = [];
  const leaked = number(summary, "leaked_bytes");
  const worst = leaks[0];
  if (leaked > 0 && worst)
    found.push({
      text: `${formatBytes(leaked)} in ${formatCount(number(summary, "leaked_blocks"))} blocks were never freed; most of it by ${nameOf(worst)}: ${formatBytes(number(worst, "leaked_bytes"))}, ${formatShare(number(worst, "share_of_site"))} of what it allocates, ${worst.pattern ?? "no pattern"}.`,
      next: "leaks",
      to: toView(address, "leaks"),
    });
  const grower = growth[0];
  if (grower)
    found.push({ text: `${nameOf(grower)} keeps growing: its live bytes rise from snapshot to snapshot.`, next: "growth", to: toView(address, "growth") });
  const heap = number(summary, "heap_at_end_bytes");
  const unused = number(summary, "heap_at_end_hole_bytes") + number(summary, "heap_at_end_free_page_bytes");
  if (heap > 1024 * 1024 && unused > heap / 4)
    found.push({
      text: `At the end ${formatBytes(unused)} of the heaps' ${formatBytes(heap)} were free between live blocks: fragmentation.`,
      next: "which call sites pin them",
      to: toView(address, "pinning"),
    });
  const share = number(summary, "temporary_share");
  const busiest = temporary[0];
  if (share > 0.25 && busiest)
    found.push({ text: `${formatShare(share)} of all allocations are freed at once, most of them by ${nameOf(busiest)}.`, next: "temporary", to: toView(address, "temporary") });
  if (number(summary, "peak_bytes") > 0)
    found.push({
      text: `At its peak, ${formatDuration(number(summary, "peak_ns"))} after the start, the program held ${formatBytes(number(summary, "peak_bytes"))} in ${formatCount(number(summary, "peak_blocks"))} blocks.`,
      next: "who held them",
      to: toView(address, "flamegraph", { measure: "peak" }),
    });
  return found;
}

function Facts({ summary }: { summary: Row }) {
  const facts: Array<[string, string]> = [
    ["program", `${summary.executable} (pid ${summary.pid})`],
    ["ran", `${formatDuration(number(summary, "duration_ns"))}, ended by ${summary.end_kind ?? "nothing that was seen"}${summary.end_value === null ? "" : " " + summary.end_value}`],
    ["allocated", `${formatBytes(number(summary, "allocated_bytes"))} in ${formatCount(number(summary, "allocations"))} blocks by ${formatCount(number(summary, "threads"))} threads`],
    ["leaked", `${formatBytes(number(summary, "leaked_bytes"))} in ${formatCount(number(summary, "leaked_blocks"))} blocks, of these ${formatBytes(number(summary, "suppressed_bytes"))} suppressed`],
    ["recording", `${formatCount(number(summary, "events"))} events, ${formatCount(number(summary, "events_dropped"))} dropped; ${formatShare(number(summary, "complete_share"))} of stacks complete`],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

interface Menu {
  atNs: number;
  x: number;
  y: number;
}

function InstantMenu({ menu, address, onClose }: { menu: Menu; address: Address; onClose: () => void }) {
  const at = `${(menu.atNs / 1e9).toFixed(6)}`;
  const entries: Array<[string, Address]> = [
    ["who is alive here", toView(address, "live", { alive_at: at })],
    ["flame graph of what is alive here", toView(address, "flamegraph", { alive_at: at })],
    ["heaps here", toView(address, "fragmentation", { alive_at: at })],
    ["the first of two instants to compare", withValues(address, { before: at })],
  ];
  const before = valueOf(address, "before");
  if (before) entries.push([`what changed since ${formatDuration(Number(before) * 1e9)}`, toView(address, "diff", { before, after: at })]);
  return (
    <div class="menu" role="menu" style={{ left: `${menu.x}px`, top: `${menu.y}px` }} onMouseLeave={onClose} onClick={onClose}>
      <p>{formatDuration(menu.atNs)}</p>
      {entries.map(([text, to]) => (
        <Link key={text} to={to}>
          {text}
        </Link>
      ))}
    </div>
  );
}

function perSecond(rows: readonly Row[], column: string): number[] {
  return rows.map((row) => number(row, column) / Math.max(1e-9, (number(row, "end_ns") - number(row, "start_ns")) / 1e9));
}

function Curves({ rows, address }: { rows: readonly Row[]; address: Address }) {
  const [menu, setMenu] = useState<Menu | null>(null);
  const charts = useMemo(() => {
    const take = (column: string) => rows.map((row) => number(row, column));
    const curve = (label: string, values: number[], colour: string, isFilled = false): Curve => ({ label, values, colour, isFilled });
    return [
      { title: "Live memory", unit: "bytes" as const, curves: [curve("live", take("peak_bytes"), "--blue", true)] },
      { title: "Live blocks", unit: "count" as const, curves: [curve("blocks", take("live_blocks"), "--green", true)] },
      { title: "Calls to the allocator", unit: "per_s" as const, curves: [curve("allocations", perSecond(rows, "allocated_blocks"), "--orange"), curve("frees", perSecond(rows, "freed_blocks"), "--purple")] },
    ];
  }, [rows]);
  const times = useMemo(() => rows.map((row) => number(row, "end_ns")), [rows]);
  const select = (from: number, to: number) => go(withValues(address, { from: `${(from / 1e9).toFixed(9)}`, to: `${(to / 1e9).toFixed(9)}` }));
  return (
    <section aria-label="curves over time">
      <p class="hint">Drag over a curve to look at that time only, in every view. Right-click for an instant.</p>
      {charts.map((chart) => (
        <Chart key={chart.title} {...chart} timesNs={times} onSelect={select} onInstant={(atNs, x, y) => setMenu({ atNs, x, y })} />
      ))}
      {menu && <InstantMenu menu={menu} address={address} onClose={() => setMenu(null)} />}
    </section>
  );
}

// The buckets of one process between from and to; the others are too far away to be looked at.
function inRange(rows: readonly Row[], address: Address): Row[] {
  const [from, to] = [valueOf(address, "from"), valueOf(address, "to")].map((text) => (text !== undefined && /^[0-9.]+$/.test(text) ? Number(text) * 1e9 : undefined));
  const process = rows[0]?.process_id;
  return rows.filter((row) => row.process_id === process && (from === undefined || number(row, "end_ns") >= from) && (to === undefined || number(row, "start_ns") <= to));
}

export function Overview({ address }: { address: Address }) {
  const process = address.parameters.filter(([name]) => name === "process");
  const summary = useRows(address.recording, "summary", process);
  const leaks = useRows(address.recording, "leaks", [["count", "1"], ...process]);
  const growth = useRows(address.recording, "growth", [["count", "1"], ...process]);
  const temporary = useRows(address.recording, "temporary", [["count", "1"], ...process]);
  const timeline = useRows(address.recording, "timeline", process);
  const rows = useMemo(() => inRange(timeline.data ?? [], address), [timeline.data, address]);
  const first = summary.data?.[0];
  if (!first) return <Notice answer={summary} empty="the recording has no process" />;
  return (
    <div class="overview">
      <Facts summary={first} />
      <section aria-label="findings">
        <h2>What to look at</h2>
        <ul class="findings">
          {findingsOf(address, first, leaks.data ?? [], growth.data ?? [], temporary.data ?? []).map((finding) => (
            <li key={finding.text}>
              {finding.text} <Link to={finding.to}>{finding.next} →</Link>
            </li>
          ))}
        </ul>
      </section>
      {rows.length > 1 ? <Curves rows={rows} address={address} /> : <Notice answer={timeline} empty="no curve: the run is too short" />}
    </div>
  );
}
