// SPDX-License-Identifier: MIT
// lines: a source file with what its lines allocate, and its text where the server can read it.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { filtersOf, toView, valueOf, withValues, type Address } from "../address";
import { apiAddress, useJson, useSql, type Row } from "../api";
import type { PageProps } from "../app";
import { ArgumentForm } from "../argument";
import { baseName, formatBytes, formatCount } from "../format";
import { Link } from "../link";
import { Notice } from "../notice";
import { choiceOf, labelOf } from "../tree";

function Line({ row, highest, isChosen }: { row: Row; highest: number; isChosen: boolean }) {
  const element = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: "center" });
  }, [isChosen]);
  const [own, total] = [Number(row.own_bytes ?? 0), Number(row.total_bytes ?? 0)];
  return (
    <tr ref={element} class={isChosen ? "chosen" : ""}>
      <td class="number">{own > 0 ? formatBytes(own) : ""}</td>
      <td class="number">{total > 0 ? formatBytes(total) : ""}</td>
      <td class="number">{Number(row.total_blocks ?? 0) > 0 ? formatCount(Number(row.total_blocks)) : ""}</td>
      <td>{total > 0 && <meter min={0} max={highest} value={total} aria-label={`${formatBytes(total)} in all`} />}</td>
      <th scope="row" class="number">
        {row.line}
      </th>
      <td>
        <code>{row.text ?? ""}</code>
      </td>
    </tr>
  );
}

interface Source {
  path: string;
  state: "unchanged" | "changed" | "absent" | "unreadable";
  note: string | null;
  lines: Row[];
  text: string | null;
}

const STATES: Record<Source["state"], string> = {
  unchanged: "",
  changed: "The file was changed since: its lines may be others than those that ran.",
  absent: "The file is not on this machine: only the lines that allocate are shown.",
  unreadable: "The file cannot be read: only the lines that allocate are shown.",
};

// All lines of the file where it can be read, else those that have figures.
function linesOf(source: Source): Row[] {
  if (source.text === null) return source.lines;
  const byNumber = new Map(source.lines.map((row) => [Number(row.line), row]));
  return source.text.replace(/\n$/, "").split("\n").map((text, index) => ({ ...byNumber.get(index + 1), line: index + 1, text }));
}

function File({ address, name }: { address: Address; name: string }) {
  const { measure } = choiceOf(address);
  const filters = filtersOf(address).filter(([filter]) => filter !== "alive_at" || measure === "live");
  const answer = useJson<Source>(apiAddress(address.recording, "source", [["path", name], ["measure", measure], ...filters]));
  const rows = useMemo(() => (answer.data ? linesOf(answer.data) : []), [answer.data]);
  const highest = Math.max(1, ...(answer.data?.lines ?? []).map((row) => Number(row.total_bytes ?? 0)));
  const first = useMemo(() => rows.find((row) => Number(row.total_bytes ?? 0) === highest)?.line, [rows, highest]);
  const chosen = Number(valueOf(address, "line") ?? first ?? 0);
  if (!answer.data) return <Notice answer={answer} />;
  return (
    <>
      <p class="hint">
        {answer.data.path}: {labelOf(address)}. Its own: the line is the call site; in all: the line is anywhere on the stack.{" "}
        {["peak", "leaked", "allocated"].filter((one) => one !== measure).map((one) => (
          <Link key={one} to={withValues(address, { measure: one })}>
            {one}{" "}
          </Link>
        ))}
      </p>
      {answer.data.state !== "unchanged" && <p class="notice">{answer.data.note ?? STATES[answer.data.state]}</p>}
      {answer.data.lines.length === 0 && <p class="notice">No line of it has anything: {labelOf(address)}.</p>}
      <div class="table-box" tabIndex={0} role="region" aria-label={name}>
        <table class="source">
          <thead>
            <tr>
              {["its own", "in all", "blocks"].map((title) => (
                <th key={title} scope="col" class="number">
                  {title}
                </th>
              ))}
              <td />
              <th scope="col" class="number">
                line
              </th>
              <td />
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Line key={`${row.source}:${row.line}`} row={row} highest={highest} isChosen={Number(row.line) === chosen} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Lines({ address }: PageProps) {
  const name = valueOf(address, "argument") ?? "";
  const files = useSql(
    address.recording,
    `SELECT source, sum(allocated_bytes) AS bytes FROM site_totals JOIN sites USING (call_site_id) WHERE source IS NOT NULL GROUP BY source ORDER BY bytes DESC LIMIT 500`,
  );
  const paths = useSql(address.recording, "SELECT path FROM sources ORDER BY path LIMIT 50000");
  const path = paths.data?.find((row) => row.path === name || String(row.path).endsWith("/" + name))?.path;
  return (
    <>
      <ArgumentForm address={address} label="file" names={(files.data ?? []).map((row) => String(row.source))} />
      {name ? (
        paths.data && <File address={address} name={String(path ?? name)} />
      ) : (
        <>
          <p class="hint">Name a source file, or choose one with call sites.</p>
          {files.data?.length === 0 && <p>No module of this recording has lines: there was no debug information when it was imported.</p>}
          <ul class="choices">
            {(files.data ?? []).slice(0, 40).map((row) => (
              <li key={row.source}>
                <Link to={toView(address, "lines", { argument: String(row.source), measure: "allocated" })} title={String(row.source)}>
                  {baseName(String(row.source))}
                </Link>{" "}
                <span class="where">{formatBytes(Number(row.bytes))} allocated</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
