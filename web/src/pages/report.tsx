// SPDX-License-Identifier: MIT
// report: the page of any command that answers with rows.

import { useEffect, useState } from "preact/hooks";
import { go, isFilter, toView, valueOf, withValues, type Address, type Parameter } from "../address";
import { apiAddress, useJson, useRows, type Answer, type Command, type Row } from "../api";
import { formatCell } from "../format";
import { InstantForm, withInstant } from "../instant";
import { Link } from "../link";
import { Notice } from "../notice";
import { Stack } from "../stack";
import { Place, shownColumns, Table } from "../table";

const PAGE_ROWS = 50;

export function isAboutInstant(command: Command): boolean {
  return command.has_instant || command.name === "live";
}

// What the command is asked: all that is in the address but what it would refuse.
export function questionOf(address: Address, command: Command): Parameter[] {
  const asked = address.parameters.filter(([name]) => !isFilter(name) || command.filters !== "none" || name === "process");
  return isAboutInstant(command) ? withInstant(asked, address) : asked;
}

function StacksOfSite({ site, address }: { site: number; address: Address }) {
  const answer = useRows(address.recording, "groups", [["site", String(site)], ["count", "5"], ...address.parameters.filter(([name]) => isFilter(name) && name !== "site")]);
  if (!answer.data) return <Notice answer={answer} />;
  return (
    <>
      {answer.data.map((row) => (
        <section key={row.backtrace_id} class="one-stack">
          <h3>
            {formatCell("allocated_bytes", row.allocated_bytes ?? null)} in {formatCell("allocated_blocks", row.allocated_blocks ?? null)} blocks,{" "}
            {formatCell("leaked_bytes", row.leaked_bytes ?? null)} leaked
          </h3>
          <Stack id={Number(row.backtrace_id)} />
        </section>
      ))}
      <p>
        <Link to={toView(address, "groups", { site: String(site) })}>all stacks of this site</Link>
      </p>
    </>
  );
}

function unfold(row: Row, address: Address) {
  if (row.backtrace_id) return <Stack id={Number(row.backtrace_id)} />;
  return <StacksOfSite site={Number(row.call_site_id)} address={address} />;
}

// What a cell can restrict every view to; undefined: nothing.
function filterOf(column: string, row: Row): Record<string, string> | undefined {
  const value = row[column];
  if (value === null || value === undefined) return undefined;
  switch (column) {
    case "call_site_id":
      return { site: String(value) };
    case "process_id":
      return { process: String(value) };
    case "backtrace_id":
      return { backtrace: String(value) };
    case "thread_id":
      return { thread: String(value) };
    case "from_bytes":
      return { size_min: String(value), size_max: String(row.to_bytes) };
    case "module":
      return { library_regex: escapeRegex(String(value)) };
    case "kind":
      return row.allocation_id ? { kind: String(value) } : undefined;
    default:
      return undefined;
  }
}

function escapeRegex(text: string): string {
  return `^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
}

function makeCell(address: Address) {
  return (column: string, row: Row) => {
    if (column === "function")
      return row.function ? (
        <span class="cell-actions">
          <Place row={row} />
          <Link class="only" title="only blocks with this function on their stack" to={withValues(address, { function_regex: escapeRegex(String(row.function)) })}>
            only
          </Link>
          <Link class="only" title="only blocks without this function on their stack" to={withValues(address, { negative_function_regex: escapeRegex(String(row.function)) })}>
            without
          </Link>
        </span>
      ) : undefined;
    const filter = filterOf(column, row);
    if (!filter) return undefined;
    return (
      <Link to={withValues(address, filter)} title="only these">
        {formatCell(column, row[column] ?? null)}
      </Link>
    );
  };
}

function Paging({ address, answer }: { address: Address; answer: Answer<Row[]> }) {
  const skip = Number(valueOf(address, "skip") ?? 0);
  const n = answer.data?.length ?? 0;
  if (skip === 0 && n < PAGE_ROWS) return null;
  return (
    <nav class="paging" aria-label="pages">
      {skip > 0 && <Link to={withValues(address, { skip: skip > PAGE_ROWS ? String(skip - PAGE_ROWS) : null })}>← former</Link>}
      <span>
        rows {skip + 1} to {skip + n}
      </span>
      {n === PAGE_ROWS && <Link to={withValues(address, { skip: String(skip + PAGE_ROWS) })}>next →</Link>}
    </nav>
  );
}

function useMeanings(address: Address, command: Command): Record<string, string> | undefined {
  const answer = useJson<Row[]>(apiAddress(address.recording, "describe", [["argument", command.name.replaceAll("-", "_")]]));
  const [meanings, setMeanings] = useState<Record<string, string> | undefined>();
  useEffect(() => setMeanings(answer.data && Object.fromEntries(answer.data.map((row) => [String(row.column), String(row.meaning ?? "")]))), [answer.data]);
  return meanings;
}

export function Report({ address, command }: { address: Address; command: Command }) {
  const [isWide, setWide] = useState(false);
  const answer = useRows(address.recording, command.name, [...questionOf(address, command).filter(([name]) => name !== "count"), ["count", String(PAGE_ROWS)]]);
  const meanings = useMeanings(address, command);
  const rows = answer.data ?? [];
  const columns = shownColumns(rows, isWide ? null : command.columns);
  const first = rows[0];
  const sort = (column: string) =>
    go(withValues(address, { sort_by: column, order: valueOf(address, "sort_by") === column && valueOf(address, "order") !== "asc" ? "asc" : "dsc", skip: null }), "replace");
  return (
    <section class={answer.isLoading ? "stale" : ""} aria-busy={answer.isLoading}>
      {isAboutInstant(command) && <InstantForm address={address} />}
      <p class="hint">
        {command.help}.{" "}
        {command.columns && (
          <label>
            <input type="checkbox" checked={isWide} onChange={(event) => setWide(event.currentTarget.checked)} /> all columns
          </label>
        )}
      </p>
      {rows.length === 0 ? (
        <Notice answer={answer} empty="no rows: nothing in this recording, or nothing under these filters" />
      ) : (
        <Table
          rows={rows}
          columns={columns}
          caption={command.help}
          meanings={meanings}
          sortBy={valueOf(address, "sort_by")}
          order={valueOf(address, "order")}
          onSort={sort}
          cell={makeCell(address)}
          unfold={first && (first.call_site_id !== undefined || first.backtrace_id !== undefined) ? (row) => unfold(row, address) : undefined}
        />
      )}
      <Paging address={address} answer={answer} />
    </section>
  );
}
