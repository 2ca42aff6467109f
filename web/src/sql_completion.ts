// SPDX-License-Identifier: MIT
// sql_completion: suggestions while a statement is typed: tables and views, columns of those it names, and SQL keywords.

import { useEffect, useState } from "preact/hooks";
import { apiAddress, type Row } from "./api";

export interface Word {
  readonly text: string;
  readonly help: string;
}

const WORDS = "SELECT FROM WHERE GROUP BY ORDER LIMIT JOIN LEFT USING ON AND OR NOT NULL AS DESC DISTINCT HAVING WITH UNION ALL CASE WHEN THEN ELSE END BETWEEN LIKE GLOB IN IS sum count min max avg total coalesce iif round printf group_concat".split(" ");

const columnsOf = new Map<string, Promise<Word[]>>();

export function fetchColumns(recording: string, table: string): Promise<Word[]> {
  const address = apiAddress(recording, "describe", [["argument", table]]);
  const known = columnsOf.get(address);
  if (known) return known;
  const made = fetch(address)
    .then((response) => (response.ok ? (response.json() as Promise<Row[]>) : []))
    .then((rows) => rows.map((row) => ({ text: String(row.column), help: `${table}: ${row.meaning ?? ""}` })))
    .catch(() => []);
  columnsOf.set(address, made);
  return made;
}

export function wordAt(text: string, at: number): string {
  return /[A-Za-z_0-9]*$/.exec(text.slice(0, at))?.[0] ?? "";
}

export function useWords(recording: string, statement: string, tables: readonly Row[]): Word[] {
  const [columns, setColumns] = useState<Word[]>([]);
  const named = tables.map((row) => String(row.name)).filter((name) => new RegExp(`\\b${name}\\b`, "i").test(statement));
  useEffect(() => {
    let isCurrent = true;
    void Promise.all(named.map((name) => fetchColumns(recording, name))).then((lists) => isCurrent && setColumns(lists.flat()));
    return () => {
      isCurrent = false;
    };
  }, [recording, named.join(" ")]);
  return [...columns, ...tables.map((row) => ({ text: String(row.name), help: String(row.row_is ?? "") })), ...WORDS.map((text) => ({ text, help: "" }))];
}

const MAX_SHOWN = 10;

export function matching(words: readonly Word[], typed: string): Word[] {
  if (typed.length < 2) return [];
  const wanted = typed.toLowerCase();
  const found = words.filter((word, index) => word.text.toLowerCase().startsWith(wanted) && word.text.toLowerCase() !== wanted && words.findIndex((one) => one.text === word.text) === index);
  return found.slice(0, MAX_SHOWN);
}
