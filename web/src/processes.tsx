// SPDX-License-Identifier: MIT
// processes: which process of a recording is looked at: the one that the filter `process` names. Without it most views are of all
// together; those that can show one only take the largest, and say so.

import { go, valueOf, withValues, type Address } from "./address";
import { useSql, type Answer, type Recording, type Row } from "./api";
import { baseName, formatBytes } from "./format";
import { Link } from "./link";

const VIEWS_OF_ONE = new Set(["overview", "heap-map", "mmaps"]);

// Largest first.
const STATEMENT = "SELECT process_id, pid, executable, start_unix_ns, start_ns, duration_ns, peak_ns, peak_bytes FROM processes ORDER BY peak_bytes DESC, process_id";

export interface Processes {
  readonly all: readonly Row[];
  readonly id: string; // of the one that a view of one shows, known before `all`: nothing else has to wait for the list
  readonly shown: Row | undefined; // undefined: not known yet, or there is none
  readonly answer: Answer<Row[]>;
}

export function useProcesses(address: Address, recording: Recording): Processes {
  const largest = recording.largest_process;
  const isOne = recording.processes === 1;
  const answer = useSql(address.recording, isOne ? null : STATEMENT);
  const all = isOne ? [largest] : (answer.data ?? []);
  const id = valueOf(address, "process") ?? String((all[0] ?? largest).process_id);
  return { all, id, shown: [...all, largest].find((row) => String(row.process_id) === id), answer };
}

// What is asked next is about the process that is shown.
export function ofShown(address: Address, recording: Recording, { id }: Processes): Address {
  return recording.processes > 1 ? withValues(address, { process: id }) : address;
}

function nameOf(process: Row): string {
  return `${process.process_id}: ${process.executable === null ? "?" : baseName(String(process.executable))}, pid ${process.pid}`;
}

function Choice({ address, recording }: { address: Address; recording: Recording }) {
  const { all } = useProcesses(address, recording);
  const chosen = valueOf(address, "process") ?? "";
  const rest = VIEWS_OF_ONE.has(address.view) ? `largest of ${recording.processes} processes` : `all ${recording.processes} processes`;
  return (
    <select class="process" aria-label="process" value={chosen} onChange={(event) => go(withValues(address, { process: event.currentTarget.value || null, skip: null, after: null }))}>
      <option value="">{rest}</option>
      {all.map((process) => (
        <option key={process.process_id} value={String(process.process_id)}>
          {nameOf(process)}, peak {formatBytes(Number(process.peak_bytes ?? 0))}
        </option>
      ))}
    </select>
  );
}

// Beside the recording, for every view; nothing where there is no choice.
export function ProcessChoice({ address, recording }: { address: Address; recording: Recording }) {
  return recording.processes > 1 ? <Choice address={address} recording={recording} key={recording.id} /> : null;
}

// In a view of one process: which it is, and which others there are.
export function ShownProcess({ address, processes: { all, shown } }: { address: Address; processes: Processes }) {
  if (!shown || all.length < 2) return null;
  const why = valueOf(address, "process") === undefined ? ", the one with the highest peak" : "";
  return (
    <p class="shown-process">
      One of {all.length} processes is shown{why}: <strong>{nameOf(shown)}</strong>. Others:{" "}
      {all
        .filter((process) => process !== shown)
        .slice(0, 8)
        .map((process) => (
          <span key={process.process_id}>
            <Link to={withValues(address, { process: String(process.process_id) })}>{nameOf(process)}</Link>;{" "}
          </span>
        ))}
      <Link to={{ ...address, view: "processes", parameters: [] }}>all as a table</Link>
    </p>
  );
}
