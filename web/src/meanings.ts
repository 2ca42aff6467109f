// SPDX-License-Identifier: MIT
// meanings: the meanings of the columns of a view, from docs/schema.md.

import { useMemo } from "preact/hooks";
import { apiAddress, useJson, useRows, type Row } from "./api";

export function useMeanings(recording: string, name: string): Record<string, string> {
  const views = useRows(recording, "views");
  const view = name.replaceAll("-", "_");
  const isKnown = views.data?.some((row) => row.name === view) ?? false;
  const answer = useJson<Row[]>(isKnown ? apiAddress(recording, "describe", [["argument", view]]) : null);
  return useMemo(() => Object.fromEntries((answer.data ?? []).map((row) => [String(row.column), String(row.meaning ?? "")])), [answer.data]);
}
