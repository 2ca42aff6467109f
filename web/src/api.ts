// SPDX-License-Identifier: MIT
// api: requests to the server. Every answer is that of mtrace-query --json: an array of rows under SQL's column names.

import { useEffect, useState } from "preact/hooks";
import type { Parameter } from "./address";

export type Cell = string | number | null;
export type Row = Record<string, Cell>;

export interface Recording {
  id: string;
  name: string;
  executable: string | null;
  start_unix_ns: number | null;
  duration_ns: number | null;
  processes: number;
  largest_process: Row; // at its peak; views of one process show it by default
  is_growing: boolean; // its log is still written
}

export interface Command {
  name: string;
  help: string;
  argument: string | null;
  filters: "none" | "stacks" | "all" | "rows";
  has_measure: boolean;
  has_tree: boolean;
  has_instant: boolean;
  needs_rows: boolean;
  takes_samples: boolean; // it works on recordings with samples
  columns: string[] | null; // columns of a narrow table
  rare_column: string | null; // one of these: shown only if some row has a value that is not 0
}

export interface FilterParameter {
  name: string;
  value: string;
  help: string;
  alias: string | null;
  words: string[] | null; // all allowed values
  has_values: boolean; // the recording has a list of values
}

export interface Meta {
  version: string;
  recordings: Recording[];
  commands: Command[];
  filters: FilterParameter[];
}

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

// The server escapes control characters, and marks of direction, which would show a name in another order than it has.
const HIDDEN = /\\\\|\\u(?:00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])|061c|200[ef]|202[89a-e]|206[6-9])/g;

function parseAnswer<T>(text: string): T {
  return JSON.parse(text.replace(HIDDEN, (escape) => (escape === "\\\\" ? escape : "?"))) as T;
}

export function apiAddress(recording: string, command: string, parameters: readonly Parameter[] = []): string {
  const query = new URLSearchParams(parameters.map(([name, value]) => [name, value])).toString();
  return `/api/v1/${encodeURIComponent(recording)}/${command}${query ? "?" + query : ""}`;
}

async function failure(response: Response): Promise<ApiError> {
  try {
    const body = (await response.json()) as { error: { message: string } };
    return new ApiError(body.error.message, response.status);
  } catch {
    return new ApiError(`the server answered with status ${response.status}`, response.status);
  }
}

async function ask(address: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (reason) {
    if ((reason as Error).name === "AbortError") throw reason;
    throw new ApiError("mtrace-serve does not answer; is it still running?", 0);
  }
  if (!response.ok) throw await failure(response);
  return response;
}

async function fetchJson<T>(address: string, init: RequestInit): Promise<T> {
  return parseAnswer<T>(await (await ask(address, init)).text());
}

async function fetchText(address: string, init: RequestInit): Promise<string> {
  return (await ask(address, init)).text();
}

export function postSql(recording: string, statement: string, signal: AbortSignal): Promise<Row[]> {
  return fetchJson<Row[]>(apiAddress(recording, "sql"), {
    method: "POST",
    headers: { "Content-Type": "application/sql" },
    body: statement,
    signal,
  });
}

export interface Answer<T> {
  readonly data: T | undefined; // the previous answer while the next one is loading
  readonly error: string | undefined;
  readonly isLoading: boolean;
}

// Number of changes of the recordings since the page was loaded; see live.ts.
let changes = 0;
let listeners: Array<() => void> = [];

export function notifyChange(): void {
  changes++;
  listeners.forEach((notify) => notify());
}

function useChanges(): number {
  const [seen, setSeen] = useState(changes);
  useEffect(() => {
    const notify = () => setSeen(changes);
    listeners = [...listeners, notify];
    return () => {
      listeners = listeners.filter((l) => l !== notify);
    };
  }, []);
  return seen;
}

const NOTHING: Answer<never> = { data: undefined, error: undefined, isLoading: false };

// The answer to the address. A change of the address or recording aborts the request and sends a new one. null: no request.
// An answer stores its query, so between a change of address and the next effect the old answer is not taken for the new one.
function useAnswer<T>(address: string | null, take: (address: string, init: RequestInit) => Promise<T>, recording = ""): Answer<T> {
  const query = `${recording} ${address}`;
  const [answer, setAnswer] = useState<Answer<T> & { query: string }>({ ...NOTHING, query: "" });
  const seen = useChanges();
  useEffect(() => {
    if (address === null) return undefined;
    const control = new AbortController();
    take(address, { signal: control.signal }).then(
      (data) => setAnswer({ ...NOTHING, data, query }),
      (reason: Error) => {
        if (reason.name !== "AbortError") setAnswer({ ...NOTHING, error: reason.message, query });
      },
    );
    return () => control.abort();
  }, [address, recording, seen]);
  if (address === null) return NOTHING;
  return answer.query === query ? answer : { ...NOTHING, data: answer.data, isLoading: true };
}

export function useJson<T>(address: string | null): Answer<T> {
  return useAnswer<T>(address, fetchJson);
}

export function useText(address: string | null): Answer<string> {
  return useAnswer<string>(address, fetchText);
}

// The rows of a statement of these pages, which must not contain user input. null: no request.
export function useSql(recording: string, statement: string | null): Answer<Row[]> {
  return useAnswer<Row[]>(statement, (text, { signal }) => postSql(recording, text, signal as AbortSignal), recording);
}

export function useRows(recording: string, command: string, parameters: readonly Parameter[] = []): Answer<Row[]> {
  return useJson<Row[]>(recording ? apiAddress(recording, command, parameters) : null);
}
