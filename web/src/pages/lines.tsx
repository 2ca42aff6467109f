// SPDX-License-Identifier: MIT
// lines: a source file with what its lines allocate, and its text where the server can read it.

import { useEffect, useRef } from "preact/hooks";
import { filtersOf, toView, valueOf, withValues, type Address } from "../address";
import { useRows, useSql, type Row } from "../api";
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

function File({ address, name }: { address: Address; name: string }) {
  const { measure } = choiceOf(address);
  const answer = useRows(address.recording, "lines", [["argument", name], ["count", "0"], ["measure", measure], ...filtersOf(address).filter(([filter]) => filter !== "alive_at" || measure === "live")]);
  const rows = answer.data ?? [];
  const highest = Math.max(1, ...rows.map((row) => Number(row.total_bytes ?? 0)));
  const chosen = Number(valueOf(address, "line") ?? 0);
  if (rows.length === 0) return <Notice answer={answer} empty={`no line of ${name} has anything: ${labelOf(address)}`} />;
  return (
    <>
      <p class="hint">
        {String(rows[0]?.source)}: {labelOf(address)}. Its own: the line is the call site; in all: the line is anywhere on the stack.{" "}
        {["peak", "leaked", "allocated"].filter((one) => one !== measure).map((one) => (
          <Link key={one} to={withValues(address, { measure: one })}>
            {one}{" "}
          </Link>
        ))}
      </p>
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
  return (
    <>
      <ArgumentForm address={address} label="file" names={(files.data ?? []).map((row) => String(row.source))} />
      {name ? (
        <File address={address} name={name} />
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
