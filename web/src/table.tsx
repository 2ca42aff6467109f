// SPDX-License-Identifier: MIT
// table: the rows of a report. Columns are those of the SQL answer; function, source, line and module become one.

import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import type { Cell, Row } from "./api";
import { Sparkline } from "./sparkline";
import { baseName, formatCell, heading, isNumeric, shortName } from "./format";

const PLACE_COLUMNS = ["function", "source", "line", "module"];

export function Place({ row, prefix = "" }: { row: Row; prefix?: string }) {
  const name = row[prefix + "function"];
  const source = row[prefix + "source"];
  const module = row[prefix + "module"];
  const line = row[prefix + "line"];
  const where = source ? `${baseName(String(source))}${line !== null ? ":" + line : ""}` : module ? baseName(String(module)) : "";
  return (
    <span class="place" title={[name, source ? `${source}:${line}` : null, module].filter(Boolean).join("\n")}>
      <span class="function">{name ? shortName(String(name)) : "?"}</span> <span class="where">{where}</span>
    </span>
  );
}

// Columns as they are shown: what place columns there are become "where", which comes first: the figures are about it.
export function shownColumns(rows: readonly Row[], wanted: readonly string[] | null): string[] {
  const first = rows[0];
  if (!first) return [];
  const names = Object.keys(first).filter((column) => !wanted || wanted.includes(column));
  const hasMargin = (column: string) => names.includes(column) && rows.some((row) => typeof row[column] === "number");
  const all = names.filter((column) => !column.endsWith("_margin")).flatMap((column) => [column, ...[`${column}_margin`].filter(hasMargin)]);
  const hasPlace = all.includes("function");
  const isShown = (column: string) =>
    !(hasPlace && PLACE_COLUMNS.includes(column) && column !== "function") && !(column === "process_id" && isConstant(rows, column));
  const shown = all.filter(isShown);
  return hasPlace ? ["function", ...shown.filter((column) => column !== "function")] : shown;
}

function isConstant(rows: readonly Row[], column: string): boolean {
  return rows.every((row) => row[column] === rows[0]?.[column]);
}

interface TableProps {
  rows: readonly Row[];
  columns: readonly string[];
  caption: string;
  meanings?: Record<string, string> | undefined; // of columns
  sortBy?: string | undefined;
  order?: string | undefined;
  onSort?: (column: string) => void;
  cell?: (column: string, row: Row) => ComponentChildren | undefined; // instead of the plain value
  unfold?: ((row: Row) => ComponentChildren) | undefined;
  levels?: ((row: Row) => readonly number[] | undefined) | undefined; // of live bytes over time
}

function sortState(props: TableProps, column: string): JSX.AriaAttributes["aria-sort"] {
  if (props.sortBy !== column) return "none";
  return props.order === "asc" ? "ascending" : "descending";
}

function Head(props: TableProps) {
  return (
    <thead>
      <tr>
        {props.unfold && (
          <th class="fold">
            <span class="hidden">stacks</span>
          </th>
        )}
        {props.levels && (
          <th scope="col" class="spark" title="live bytes over the run">
            over time
          </th>
        )}
        {props.columns.map((column) => (
          <th key={column} scope="col" class={isNumeric(column) ? "number" : ""} aria-sort={props.onSort ? sortState(props, column) : undefined} title={props.meanings?.[column]}>
            {props.onSort ? (
              <button type="button" onClick={() => props.onSort?.(column)}>
                {column === "function" ? "where" : heading(column)}
              </button>
            ) : column === "function" ? (
              "where"
            ) : (
              heading(column)
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function plainCell(column: string, row: Row): ComponentChildren {
  const value: Cell = row[column] ?? null;
  if (column === "function") return <Place row={row} />;
  const isLong = typeof value === "string" && value.length > 48; // it would push the figures out of the window
  return (
    <span class={isLong ? "long" : undefined} title={typeof value === "number" || isLong ? String(value) : undefined}>
      {formatCell(column, value)}
    </span>
  );
}

function Body({ row, ...props }: TableProps & { row: Row }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <tr>
        {props.unfold && (
          <td class="fold">
            <button type="button" aria-expanded={isOpen} aria-label="unfold" onClick={() => setOpen(!isOpen)}>
              {isOpen ? "▾" : "▸"}
            </button>
          </td>
        )}
        {props.levels && (
          <td class="spark">
            <Sparkline values={props.levels(row)} />
          </td>
        )}
        {props.columns.map((column) => (
          <td key={column} class={isNumeric(column) ? "number" : ""}>
            {props.cell?.(column, row) ?? plainCell(column, row)}
          </td>
        ))}
      </tr>
      {isOpen && props.unfold && (
        <tr class="unfolded">
          <td colSpan={props.columns.length + 1 + (props.levels ? 1 : 0)}>{props.unfold(row)}</td>
        </tr>
      )}
    </>
  );
}

export function Table(props: TableProps) {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label={props.caption}>
      <table>
        <caption class="hidden">{props.caption}</caption>
        <Head {...props} />
        <tbody>
          {props.rows.map((row, index) => (
            <Body key={index} row={row} {...props} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
