// SPDX-License-Identifier: MIT
// sql: any SELECT over the tables and views of docs/schema.md. What was asked is kept in this browser.

import { useEffect, useRef, useState } from "preact/hooks";
import { go, valueOf, withValues, type Address } from "../address";
import { postSql, useRows, type Row } from "../api";
import type { PageProps } from "../app";
import { Notice } from "../notice";
import { fetchColumns, useWords, type Word } from "../sql_completion";
import { SqlEditor } from "../sql_editor";
import { SHAPES, SqlResult, type Shape } from "../sql_result";

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

function Columns({ recording, table, onPick }: { recording: string; table: string; onPick: (text: string) => void }) {
  const [columns, setColumns] = useState<readonly Word[]>([]);
  useEffect(() => void fetchColumns(recording, table).then(setColumns), [recording, table]);
  return (
    <ul>
      {columns.map((column) => (
        <li key={column.text} class="hint" title={column.help}>
          <button type="button" onClick={() => onPick(column.text)}>
            {column.text}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Schema({ address, views, onTable, onColumn }: { address: Address; views: readonly Row[]; onTable: (name: string) => void; onColumn: (name: string) => void }) {
  const [open, setOpen] = useState("");
  return (
    <aside class="schema" aria-label="tables and views">
      <h2>Tables and views</h2>
      <ul tabIndex={0}>
        {views.map(({ name, row_is }) => (
          <li key={name} title={String(row_is ?? "")}>
            <button type="button" class="twisty" aria-expanded={open === name} aria-label={`columns of ${name}`} onClick={() => setOpen(open === name ? "" : String(name))}>
              {open === name ? "▾" : "▸"}
            </button>
            <button type="button" onClick={() => onTable(String(name))}>
              {name}
            </button>
            {open === name && <Columns recording={address.recording} table={String(name)} onPick={onColumn} />}
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

export function Sql({ address }: PageProps) {
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
  const views = useRows(address.recording, "views").data ?? [];
  const words = useWords(address.recording, text, views);
  const shape: Shape = SHAPES.find((one) => one === valueOf(address, "show")) ?? "table";
  return (
    <div class="sql">
      <Schema address={address} views={views} onTable={(name) => setText(`SELECT *\nFROM ${name}\nLIMIT 20`)} onColumn={(name) => setText(`${text} ${name}`)} />
      <div>
        <SqlEditor text={text} words={words} onText={setText} onRun={run} />
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
            show as{" "}
            <select value={shape} onChange={(event) => go(withValues(address, { show: event.currentTarget.value }))}>
              {SHAPES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
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
          <SqlResult rows={result.rows} shape={shape} />
        ) : (
          <Notice answer={{ data: result.rows, error: result.error, isLoading: result.isRunning }} empty={result.rows ? "no rows" : "Ctrl and Enter run the statement."} />
        )}
      </div>
    </div>
  );
}
