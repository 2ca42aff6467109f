// SPDX-License-Identifier: MIT
// report: the page of any command that answers with rows.

import { useState } from "preact/hooks";
import { filtersOf, go, isFilter, toView, valueOf, withValues, type Address } from "../address";
import { useRows, useSql, type Answer, type Cell, type Command, type Row } from "../api";
import type { PageProps } from "../app";
import { ArgumentForm } from "../argument";
import { makeCell } from "../cell_menu";
import { formatBlocks, formatBytes, formatCell, formatCount } from "../format";
import { InstantForm } from "../instant";
import { Link } from "../link";
import { useMeanings } from "../meanings";
import { Notice } from "../notice";
import { isAboutInstant, queryOf } from "../query";
import { useLevels } from "../sparkline";
import { Bars } from "../bars";
import { Freed, Stack } from "../stack";
import { shownColumns, Table } from "../table";

const PAGE_ROWS = 50;
const STACKS_SHOWN = 5;

function OneStack({ row }: { row: Row }) {
  const id = Number(row.backtrace_id);
  const columns = ["leaked_bytes", "leaked_blocks", "allocated_bytes", "allocated_blocks", "own_peak_bytes"].filter((column) => typeof row[column] === "number");
  return (
    <section class="one-stack">
      <h3>{columns.map((column) => `${formatCell(column, row[column] ?? null)} ${column.replace(/_bytes$/, "").replaceAll("_", " ")}`).join(", ")}</h3>
      <Stack id={id} />
      <Freed id={id} />
    </section>
  );
}

// Leaks are unfolded into what leaks, all else into what allocates.
function StacksOfSite({ site, address }: { site: number; address: Address }) {
  const command = address.view === "leaks" ? "leaks-by-stack" : "groups";
  const asked = address.parameters.filter(([name]) => isFilter(name) && name !== "site" && name !== "alive_at");
  const answer = useRows(address.recording, command, [["site", String(site)], ["count", String(STACKS_SHOWN + 1)], ...asked]);
  if (!answer.data) return <Notice answer={answer} />;
  return (
    <>
      {answer.data.slice(0, STACKS_SHOWN).map((row) => (
        <OneStack key={row.backtrace_id} row={row} />
      ))}
      <p>
        <Link to={toView(address, command, { site: String(site) })}>{answer.data.length > STACKS_SHOWN ? "all stacks of this call site" : "these stacks as a table"}</Link>{" "}
        <Link to={toView(address, "flamegraph", { site: String(site), measure: address.view === "leaks" ? "leaked" : "allocated" })}>flame graph of it</Link>
      </p>
    </>
  );
}

function unfold(row: Row, address: Address) {
  if (row.backtrace_id) return <OneStack row={row} />;
  return row.call_site_id ? <StacksOfSite site={Number(row.call_site_id)} address={address} /> : <p class="hint">These stacks have no call site.</p>;
}

// Blocks go on behind the last one that is shown, however far that is; all else is counted.
function Paging({ address, answer }: { address: Address; answer: Answer<Row[]> }) {
  const skip = Number(valueOf(address, "skip") ?? 0);
  const n = answer.data?.length ?? 0;
  const last = answer.data?.at(-1)?.allocation_id;
  const isBehind = valueOf(address, "after") !== undefined;
  if (skip === 0 && !isBehind && n < PAGE_ROWS) return null;
  return (
    <nav class="paging" aria-label="pages">
      {isBehind && <Link to={withValues(address, { after: null })}>← first page</Link>}
      {skip > 0 && <Link to={withValues(address, { skip: skip > PAGE_ROWS ? String(skip - PAGE_ROWS) : null })}>← former</Link>}
      <span>{last ? `blocks ${answer.data?.[0]?.allocation_id} to ${last}` : `rows ${skip + 1} to ${skip + n}`}</span>
      {n === PAGE_ROWS && <Link to={withValues(address, last ? { after: String(last) } : { skip: String(skip + PAGE_ROWS) })}>next →</Link>}
    </nav>
  );
}

// Filters that this answer does not know are said to have no effect.
function Unfiltered({ address, command }: { address: Address; command: Command }) {
  const ignored = command.filters === "none" ? filtersOf(address).filter(([name]) => name !== "process" && name !== "alive_at") : [];
  return ignored.length > 0 ? <p class="hint">This view shows the whole run: {ignored.map(([name]) => name).join(", ")} cannot restrict it.</p> : null;
}

// Behind an estimate; nothing where the square of the margin is unknown: it is exact.
function marginOf(square: Cell | undefined, format: (value: number) => string): string {
  return typeof square === "number" && square >= 0.25 ? ` ± ${format(Math.round(Math.sqrt(square)))}` : "";
}

// As below the table of the command line: what nobody can or needs to fix is no row, and no secret.
function Suppressed({ address, command }: { address: Address; command: Command }) {
  const process = valueOf(address, "process");
  const isAsked = (command.name === "leaks" || command.name === "leaks-by-stack") && filtersOf(address).every(([name]) => name === "process");
  const rules = useSql(
    address.recording,
    isAsked
      ? `SELECT r.rule, sum(l.leaked_bytes) AS bytes, sum(l.leaked_blocks) AS blocks, sum(l.leaked_bytes_margin * l.leaked_bytes_margin) AS bytes_square,
sum(l.leaked_blocks_margin * l.leaked_blocks_margin) AS blocks_square FROM site_leaks AS l JOIN suppressions AS r ON r.rule_id = l.rule_id
WHERE l.rule_id IS NOT NULL AND ${process === undefined ? "1" : `l.process_id = ${Number(process)}`} GROUP BY r.rule_id ORDER BY 2 DESC, r.rule_id`
      : null,
  ).data;
  if (!isAsked || !rules || rules.length === 0) return null;
  return (
    <ul class="hint" aria-label="suppressed">
      {rules.map((row) => (
        <li key={row.rule}>
          suppressed: {formatBytes(Number(row.bytes)) + marginOf(row.bytes_square, formatBytes)} in{" "}
          {row.blocks_square === null ? formatBlocks(Number(row.blocks)) : `${formatCount(Number(row.blocks))}${marginOf(row.blocks_square, formatCount)} blocks`} by {row.rule}
        </li>
      ))}
    </ul>
  );
}

// A program that has not ended has live blocks, not leaked ones.
function Alive({ address, command }: { address: Address; command: Command }) {
  const process = valueOf(address, "process");
  const alive = useSql(
    address.recording,
    command.name.startsWith("leaks")
      ? `SELECT 1 AS one FROM processes WHERE end_kind IN ('running', 'detached', 'unseen') AND ${process === undefined ? "1" : `process_id = ${Number(process)}`} LIMIT 1`
      : null,
  ).data;
  return alive && alive.length > 0 ? <p class="hint">The program had not ended: these blocks are live, not leaked.</p> : null;
}

// A class of sizes or of lifetimes each.
function Histogram({ rows }: { rows: readonly Row[] }) {
  const [from, to] = rows[0]?.from_bytes === undefined ? ["from_ns", "to_ns"] : ["from_bytes", "to_bytes"];
  const name = (row: Row) => (row[from] === null ? "never freed" : `${formatCell(from, row[from] ?? null)} to ${formatCell(to, row[to] ?? null)}`);
  return <Bars title="blocks of each class" bars={rows.map((row) => ({ label: name(row), value: Number(row.blocks ?? 0), text: formatCell("blocks", row.blocks ?? null) }))} />;
}

function narrowColumns(rows: readonly Row[], { columns, rare_column: rare }: Command): readonly string[] | null {
  const hasMargin = (column: string) => rows.some((row) => typeof row[column] === "number");
  return columns && columns.flatMap((column) => (column === rare && !rows.some((row) => row[column]) ? [] : [column, ...[`${column}_margin`].filter(hasMargin)]));
}

function emptyText(command: Command): string {
  if (command.name === "errors")
    return "no rows: no recorded call got an address that was not live. A second free after the address was reused, and new/free mismatches, are not seen (valgrind's memcheck sees them)";
  return command.name.startsWith("leaks") ? "no rows: there is no leak but what is suppressed" : "no rows: the recording has nothing of the kind";
}

export function Rows({ address, command }: { address: Address; command: Command }) {
  const [isWide, setWide] = useState(false);
  const answer = useRows(address.recording, command.name, [...queryOf(address, command).filter(([name]) => name !== "count"), ["count", String(PAGE_ROWS)]]);
  const meanings = useMeanings(address.recording, command.name);
  const rows = answer.data ?? [];
  const levels = useLevels(address.recording, rows);
  const first = rows[0];
  const sort = (column: string) =>
    go(withValues(address, { sort_by: column, order: valueOf(address, "sort_by") === column && valueOf(address, "order") !== "asc" ? "asc" : "dsc", skip: null, after: null }), "replace");
  return (
    <section class={answer.isLoading ? "stale" : ""} aria-busy={answer.isLoading}>
      <p class="hint">
        {command.help}.{" "}
        {command.columns && (
          <label>
            <input type="checkbox" checked={isWide} onChange={(event) => setWide(event.currentTarget.checked)} /> all columns
          </label>
        )}
      </p>
      <Unfiltered address={address} command={command} />
      <Alive address={address} command={command} />
      <Suppressed address={address} command={command} />
      {rows.length === 0 ? (
        <Notice answer={answer} empty={filtersOf(address).length > 0 ? "no rows under these filters: remove one of them above" : emptyText(command)} />
      ) : (
        <>
        {command.name.endsWith("-histogram") && <Histogram rows={rows} />}
        <Table
          rows={rows}
          columns={shownColumns(rows, isWide ? null : narrowColumns(rows, command))}
          caption={command.help}
          meanings={meanings}
          sortBy={valueOf(address, "sort_by")}
          order={valueOf(address, "order")}
          onSort={sort}
          cell={makeCell(address)}
          levels={levels}
          unfold={first && (first.call_site_id !== undefined || first.backtrace_id !== undefined) ? (row) => unfold(row, address) : undefined}
        />
        </>
      )}
      <Paging address={address} answer={answer} />
    </section>
  );
}

export function Report({ address, command }: PageProps & { command: Command }) {
  const needsArgument = command.argument !== null && valueOf(address, "argument") === undefined;
  return (
    <>
      {command.argument && <ArgumentForm address={address} label={command.argument.toLowerCase()} />}
      {isAboutInstant(command) && <InstantForm address={address} />}
      {!needsArgument && <Rows address={address} command={command} />}
    </>
  );
}
