// SPDX-License-Identifier: MIT
// overview: what the run was, what is to be looked at first, and its curves over time.

import { filtersOf, go, toView, valueOf, withValues, type Address } from "../address";
import { useRows, type Recording, type Row } from "../api";
import type { PageProps } from "../app";
import { Chart } from "../chart";
import { number, useCurves, type Range } from "../curves";
import { Findings, type Finding } from "../findings";
import { formatBlocks, formatBytes, formatCount, formatDuration, formatShare } from "../format";
import { formatInstant, instantText, parseInstant } from "../instants";
import { Link } from "../link";
import { openMenu, type MenuEntry } from "../menu";
import { Notes } from "../notes";
import { Notice } from "../notice";
import { ofShown, ShownProcess, useProcesses, type Processes } from "../processes";

// As the kernel counted; where nobody waited for the process, or another tool recorded it, as it was sampled.
function residentText(summary: Row): string {
  if (summary.rss_max_bytes !== null) return `RSS at most ${formatBytes(number(summary, "rss_max_bytes"))}`;
  if (summary.rss_highest_bytes === null) return "RSS not known";
  const samples = number(summary, "rss_samples");
  return `RSS at most ${formatBytes(number(summary, "rss_highest_bytes"))} at ${formatInstant(number(summary, "rss_highest_ns"))}, the highest of ${formatCount(samples)} ${samples === 1 ? "sample" : "samples"}`;
}

// A figure of samples with half of the width of its interval.
function estimated(summary: Row, name: string, format: (value: number) => string): string {
  const margin = summary[`${name}_margin`];
  return format(number(summary, name)) + (typeof margin === "number" && margin >= 0.5 ? ` ± ${format(Math.round(margin))}` : "");
}

function estimatedBlocks(summary: Row, name: string): string {
  return typeof summary[`${name}_margin`] === "number" ? `${estimated(summary, name, formatCount)} blocks` : formatBlocks(number(summary, name));
}

function endOf(summary: Row): string {
  if (summary.end_kind === "running") return "still running";
  if (summary.end_kind === "detached") return "went on unrecorded";
  return `ended by ${summary.end_kind ?? "nothing that was seen"}${summary.end_value === null ? "" : " " + summary.end_value}`;
}

/* A process that has not ended as far as the recording knows has live blocks, not leaked ones. */
function hasLiveBlocks(summary: Row) {
  return ["running", "detached", "unseen"].includes(String(summary.end_kind));
}

function Facts({ summary, process }: { summary: Row; process: Row | undefined }) {
  const startUnixNs = Number(process?.start_unix_ns ?? 0);
  const began = startUnixNs === 0 ? "" : `, begun ${new Date(startUnixNs / 1e6).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const dropped = number(summary, "events_dropped");
  const facts: Array<[string, string]> = [
    ["program", `${summary.executable} (pid ${summary.pid})`],
    ["ran", `${formatDuration(number(summary, "duration_ns"))}, ${endOf(summary)}${began}`],
    ["allocated", `${estimated(summary, "allocated_bytes", formatBytes)} in ${estimatedBlocks(summary, "allocations")} by ${formatCount(number(summary, "threads"))} ${number(summary, "threads") === 1 ? "thread" : "threads"}`],
    ["peak", `${estimated(summary, "peak_bytes", formatBytes)} at ${formatInstant(number(summary, "peak_ns"))}; ${residentText(summary)}`],
    [hasLiveBlocks(summary) ? "live" : "leaked", `${estimated(summary, "leaked_bytes", formatBytes)} in ${estimatedBlocks(summary, "leaked_blocks")}, of these ${estimated(summary, "suppressed_bytes", formatBytes)} suppressed`],
    ["recording", `${formatCount(number(summary, "events"))} events${dropped > 0 ? `, ${formatCount(dropped)} dropped` : ""}; ${formatShare(number(summary, "complete_share"))} of stacks complete`],
  ];
  const elided = number(summary, "elided_blocks");
  if (elided > 0) facts.splice(3, 0, ["elided", `${formatBlocks(elided)}, all of them freed soon: in all totals, without rows${number(summary, "threads") > 1 ? "; the peak may have been higher by those live at one time (meta: elided.most_live_bytes)" : ""}`]);
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

// What can be asked of an instant, and of the chosen range.
function entriesAt(address: Address, atNs: number, range: Range | null): MenuEntry[] {
  const at = instantText(atNs);
  const before = valueOf(address, "before");
  const whole = { from: null, to: null };
  const step = range ? (range[1] - range[0]) / 500 : 1e6;
  const entries: MenuEntry[] = [
    ["alive here: who", toView(address, "live", { ...whole, alive_at: at })],
    ["alive here: flame graph", toView(address, "flamegraph", { ...whole, measure: "live", alive_at: at })],
    ["alive here: block by block", toView(address, "allocations", { ...whole, alive_at: at })],
    ["allocated here: block by block", toView(address, "allocations", { from: instantText(atNs - step), to: instantText(atNs + step) })],
    ["the heaps here", toView(address, "heap-map", { ...whole, alive_at: at })],
    ["the range begins here", withValues(address, { from: at })],
    ["the range ends here", withValues(address, { to: at })],
    [before === undefined ? "compare this instant with another one …" : "compare from here instead", withValues(address, { before: at })],
  ];
  if (before !== undefined) entries.unshift([`compare with ${formatInstant(Number(before) * 1e9)}: what changed`, toView(address, "diff", { ...whole, before, then: at })]);
  const [from, to] = [valueOf(address, "from"), valueOf(address, "to")];
  if (from !== undefined && to !== undefined) {
    entries.unshift(["compare the ends of the range", toView(address, "diff", { ...whole, before: from, then: to })]);
    entries.unshift(["alive throughout the range", throughout(toView(address, "allocations", whole), from, to)]);
  }
  return entries;
}

function throughout(address: Address, from: string, to: string): Address {
  return { ...address, parameters: [...address.parameters.filter(([name]) => name !== "alive_at"), ["alive_at", from], ["alive_at", to]] };
}

function Curves({ address, recording, processes }: { address: Address; recording: Recording; processes: Processes }) {
  const process = processes.shown;
  const start = number(process, "start_ns");
  const end = start + number(process, "duration_ns");
  const [from, to] = [parseInstant(valueOf(address, "from"), end), parseInstant(valueOf(address, "to"), end)];
  const isWhole = from === undefined && to === undefined;
  const range: Range = [from ?? start, Math.max((from ?? start) + 1, to ?? end)];
  const curves = useCurves(address.recording, recording.is_growing, Number(processes.id), filtersOf(address));
  const charts = process ? curves.charts : []; // whose time is not known yet
  const answer = { data: charts, error: curves.error, isLoading: curves.isLoading || !process };
  const ignored = filtersOf(address).some(([name]) => name === "site" || name === "alive_at");
  const before = valueOf(address, "before");
  const use = {
    range,
    onSelect: (fromNs: number, toNs: number) => go(withValues(address, { from: instantText(fromNs), to: instantText(toNs) })),
    onInstant: (atNs: number, x: number, y: number) => openMenu(x, y, formatInstant(atNs), entriesAt(address, atNs, isWhole ? null : range)),
  };
  return (
    <section aria-label="curves over time" class="curves">
      <p class="hint">
        {isWhole ? "Drag over a curve to look at that time only, in every view." : <Link to={withValues(address, { from: null, to: null })}>← the whole run</Link>} Right-click, or press Enter, for an instant.
        {recording.is_growing && " What leaked over time is drawn when the recording has ended."}
        {ignored && " The curves are of all call sites and instants."}
        {before !== undefined && <strong> Now choose the instant to compare {formatInstant(Number(before) * 1e9)} with.</strong>}
      </p>
      {charts.length > 0 ? charts.map((chart) => <Chart key={chart.title} {...chart} {...use} />) : <Notice answer={answer} empty="no curve: the run is too short" />}
      {charts.length > 0 && curves.error && <Notice answer={answer} />}
    </section>
  );
}

// The summary and the curves are requested together: no answer waits for another one.
export function Overview({ address, recording }: PageProps) {
  const processes = useProcesses(address, recording);
  const summary = useRows(address.recording, "summary", [["count", "1"], ["process", processes.id]]);
  const first = summary.data?.[0];
  if (!processes.shown && !processes.answer.isLoading) return <Notice answer={processes.answer} empty="no such process" />;
  const shown = ofShown(address, recording, processes);
  return (
    <div class="overview" aria-busy={summary.isLoading}>
      <ShownProcess address={address} processes={processes} />
      <Notes recording={address.recording} />
      {first && <Findings address={shown} findings={first.findings as unknown as Finding[]} />}
      {first ? <Facts summary={first} process={processes.shown} /> : <Notice answer={summary} />}
      <Curves address={shown} recording={recording} processes={processes} />
    </div>
  );
}
