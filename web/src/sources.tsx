// SPDX-License-Identifier: MIT
// sources: what is on the screen as a command for a terminal and as SQL.

import { useState } from "preact/hooks";
import { valueOf, type Address, type Parameter } from "./address";
import { apiAddress, useText, type Command, type Meta } from "./api";
import { Notice } from "./notice";

function quote(text: string): string {
  return /^[\w./,:@%=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function commandOf(address: Address, command: Command, query: readonly Parameter[], file: string): string {
  const argument = valueOf(address, "argument");
  const options = query.filter(([name]) => name !== "argument").map(([name, value]) => `--${name.replaceAll("_", "-")}${value === "yes" ? "" : "=" + quote(value)}`);
  return ["mtrace-query", command.name, quote(file), ...(argument ? [quote(argument)] : []), ...options].join(" ");
}

function Text({ label, text }: { label: string; text: string }) {
  return (
    <div class="source-text">
      <button type="button" onClick={() => void navigator.clipboard?.writeText(text)} aria-label={`copy the ${label}`}>
        copy
      </button>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}

export function Sources({ address, command, query, meta }: { address: Address; command: Command; query: readonly Parameter[]; meta: Meta }) {
  const [isOpen, setOpen] = useState(false);
  const sql = useText(isOpen ? apiAddress(address.recording, command.name, [...query, ["show_sql", "yes"]]) : null);
  const file = meta.recordings.find((recording) => recording.id === address.recording)?.name ?? "run.db";
  return (
    <details class="sources" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>SQL and command</summary>
      <Text label="command" text={commandOf(address, command, query, file)} />
      {sql.data ? <Text label="statement" text={sql.data} /> : <Notice answer={sql} />}
    </details>
  );
}
