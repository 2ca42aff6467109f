// SPDX-License-Identifier: MIT
// sql: any SELECT over the tables and views of docs/schema.md. What was asked is kept in this browser.

import { useEffect, useRef, useState } from "preact/hooks";
import { go, valueOf, withValues, type Address } from "../address";
import { postSql, useRows, type Row } from "../api";
import { Notice } from "../notice";
import { Table } from "../table";

const HISTORY_KEY = "sql-history";
const HISTORY_LENGTH = 50;
const EXAMPLE = "SELECT function, line, leaked_bytes, leaked_blocks\nFROM leaks\nORDER BY leaked_bytes DESC\nLIMIT 20";

function readHistory(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(HISTORY_KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((entry) => typeof entry === "string") : [];
  } catch {
    return [];
  }
}

function remember(statement: string): string[] {
  const history = [statement, ...readHistory().filter((entry) => entry !== statement)].slice(0, HISTORY_LENGTH);
  localStorage.setItem(HISTORY_KEY, JSON.stringify(history));
  return history;
}

function toCsv(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const cell = (value: unknown) => (value === null ? "" : /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

function save(rows: readonly Row[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([toCsv(rows)], { type: "text/csv" }));
  link.download = "answer.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

function Schema({ address, onPick }: { address: Address; onPick: (name: string) => void }) {
  const views = useRows(address.recording, "views");
  return (
    <aside class="schema" aria-label="tables and views">
      <h2>Tables and views</h2>
      <ul>
        {(views.data ?? []).map((row) => (
          <li key={row.name}>
            <button type="button" onClick={() => onPick(String(row.name))} title={String(row.row_is ?? "")}>
              {row.name}
            </button>
          </li>
        ))}
      </ul>
    </aside>
  );
}

interface Result {
  rows: Row[] | undefined;
  error: string | undefined;
  isRunning: boolean;
  tookMs: number;
}

export function Sql({ address }: { address: Address }) {
  const asked = valueOf(address, "statement");
  const [text, setText] = useState(asked ?? readHistory()[0] ?? EXAMPLE);
  const [history, setHistory] = useState(readHistory);
  const [result, setResult] = useState<Result>({ rows: undefined, error: undefined, isRunning: false, tookMs: 0 });
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    if (asked === undefined) return undefined;
    const control = new AbortController();
    const begin = performance.now();
    running.current = control;
    setText(asked);
    setResult((former) => ({ ...former, error: undefined, isRunning: true }));
    postSql(address.recording, asked, control.signal).then(
      (rows) => setResult({ rows, error: undefined, isRunning: false, tookMs: performance.now() - begin }),
      (reason: Error) => setResult({ rows: undefined, error: reason.name === "AbortError" ? "stopped" : reason.message, isRunning: false, tookMs: 0 }),
    );
    return () => control.abort();
  }, [asked, address.recording]);
  const run = () => {
    setHistory(remember(text));
    go(withValues(address, { statement: text }));
  };
  const columns = Object.keys(result.rows?.[0] ?? {});
  return (
    <div class="sql">
      <Schema address={address} onPick={(name) => setText(`SELECT *\nFROM ${name}\nLIMIT 20`)} />
      <div>
        <textarea
          value={text}
          rows={8}
          spellcheck={false}
          aria-label="SQL statement; Ctrl and Enter run it"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              run();
            }
          }}
        />
        <p class="controls">
          <button type="button" class="primary" onClick={run} disabled={result.isRunning}>
            run
          </button>
          <button type="button" onClick={() => running.current?.abort()} disabled={!result.isRunning}>
            stop
          </button>
          <button type="button" onClick={() => save(result.rows ?? [])} disabled={!result.rows?.length}>
            CSV
          </button>
          <label>
            history{" "}
            <select value="" onChange={(event) => setText(event.currentTarget.value)}>
              <option value="">…</option>
              {history.map((entry) => (
                <option key={entry} value={entry}>
                  {entry.replace(/\s+/g, " ").slice(0, 80)}
                </option>
              ))}
            </select>
          </label>
          {result.rows && !result.isRunning && (
            <span class="hint" role="status">
              {result.rows.length} rows in {result.tookMs.toFixed(0)} ms
            </span>
          )}
        </p>
        {result.rows?.length ? (
          <Table rows={result.rows} columns={columns} caption="answer" cell={(column, row) => String(row[column] ?? "NULL")} />
        ) : (
          <Notice answer={{ data: result.rows, error: result.error, isLoading: result.isRunning }} empty={result.rows ? "no rows" : "Ctrl and Enter run the statement."} />
        )}
      </div>
    </div>
  );
}
