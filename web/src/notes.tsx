// SPDX-License-Identifier: MIT
// notes: what the command line says beside an answer: what is missing from it, or from every figure.

import type { Parameter } from "./address";
import { useRows } from "./api";

// Without a command: what is missing from every figure of the recording.
export function Notes({ recording, command, query = [] }: { recording: string; command?: string; query?: readonly Parameter[] }) {
  const notes = useRows(recording, "notes", command === undefined ? [] : [["command", command], ...query]);
  if (!notes.data?.length) return null;
  return (
    <ul class="notes" aria-label="what is missing">
      {notes.data.map((row) => (
        <li key={row.note}>{row.note}</li>
      ))}
    </ul>
  );
}
