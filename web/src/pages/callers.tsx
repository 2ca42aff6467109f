// SPDX-License-Identifier: MIT
// callers: one function between those that call it and those that it calls.

import { filtersOf, toView, valueOf, withValues, type Address } from "../address";
import { useRows, useSql, type Row } from "../api";
import type { PageProps } from "../app";
import { ArgumentForm } from "../argument";
import { escapeRegex } from "../completions";
import { formatBytes, shortName } from "../format";
import { Link } from "../link";
import { Notice } from "../notice";
import { Place, shownColumns, Table } from "../table";

function Side({ address, command, name, title }: { address: Address; command: "callers" | "callees"; name: string; title: string }) {
  const answer = useRows(address.recording, command, [["argument", name], ["count", "0"], ...filtersOf(address)]);
  const rows = answer.data ?? [];
  const cell = (column: string, row: Row) =>
    column === "function" && row.function ? (
      <Link to={toView(address, "callers", { argument: String(row.function) })} title={String(row.function)}>
        <Place row={row} />
      </Link>
    ) : undefined;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {rows.length > 0 ? <Table rows={rows} columns={shownColumns(rows, null)} caption={title} cell={cell} /> : <Notice answer={answer} empty="none" />}
    </section>
  );
}

// What the function itself is about, between the two sides.
function Itself({ address, row }: { address: Address; row: Row }) {
  const name = String(row.function);
  const exact = `^${escapeRegex(name)}$`;
  const bytes = (column: string) => formatBytes(Number(row[column] ?? 0));
  return (
    <p>
      <strong>{name}</strong>: with all it calls {bytes("inclusive_allocated_bytes")} allocated, {bytes("inclusive_peak_bytes")} live at the peak, {bytes("inclusive_leaked_bytes")} leaked; itself {bytes("self_allocated_bytes")} allocated.{" "}
      <Link to={toView(address, "groups", { function_regex: exact })}>its stacks</Link> <Link to={withValues(toView(address, "flamegraph"), { function_regex: exact })}>flame graph</Link>
    </p>
  );
}

export function Callers({ address }: PageProps) {
  const name = valueOf(address, "argument") ?? "";
  const functions = useSql(address.recording, "SELECT * FROM by_function ORDER BY inclusive_allocated_bytes DESC LIMIT 2000");
  const itself = functions.data?.find((row) => row.function === name);
  return (
    <>
      <ArgumentForm address={address} label="function" names={(functions.data ?? []).map((row) => String(row.function))} />
      {name ? (
        <>
          {itself && <Itself address={address} row={itself} />}
          <div class="two-columns">
            <Side address={address} command="callers" name={name} title={`who calls ${shortName(name)}`} />
            <Side address={address} command="callees" name={name} title={`what ${shortName(name)} calls`} />
          </div>
        </>
      ) : (
        <>
          <p class="hint">Name a function, or choose one of those that allocate most.</p>
          <ul class="choices">
            {(functions.data ?? []).slice(0, 30).map((row) => (
              <li key={row.function_id}>
                <Link to={withValues(address, { argument: String(row.function) })}>{shortName(String(row.function))}</Link> <span class="where">{formatBytes(Number(row.inclusive_allocated_bytes))}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
