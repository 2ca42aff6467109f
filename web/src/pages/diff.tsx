// SPDX-License-Identifier: MIT
// diff: what changed between two instants of a recording, or between two recordings.

import { useMemo } from "preact/hooks";
import { go, toView, valueOf, withValues, type Address } from "../address";
import { apiAddress, useJson, useSql, type Meta, type Row } from "../api";
import type { PageProps } from "../app";
import { makeCell } from "../cell_menu";
import { baseName } from "../format";
import { Link } from "../link";
import { Notice } from "../notice";
import { comparedInstants, diffQuestion } from "../question";
import { shownColumns, Table } from "../table";

const MEASURES = ["leaked_bytes", "peak_bytes", "allocated_bytes", "allocated_blocks", "temporary_blocks"] as const;
const TOTALS = `SELECT s.function, s.source, s.line, s.module, min(t.call_site_id) AS call_site_id, ${MEASURES.map((name) => `sum(t.${name}) AS ${name}`).join(", ")}
FROM site_totals AS t LEFT JOIN sites AS s USING (call_site_id) GROUP BY s.function, s.source, s.line, s.module`;

function Instants({ address }: { address: Address }) {
  const [before, after] = comparedInstants(address);
  const answer = useJson<Row[]>(apiAddress(address.recording, "diff", diffQuestion(address)));
  const rows = answer.data ?? [];
  const choose = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    go(withValues(address, { before: String(form.get("before") || "") || null, then: String(form.get("then") || "") || null, with: null, alive_at: null }));
  };
  return (
    <section aria-busy={answer.isLoading}>
      <form class="controls" onSubmit={choose} key={`${before} ${after}`}>
        <label>
          from <input name="before" defaultValue={before} size={12} />
        </label>
        <label>
          to <input name="then" defaultValue={after} size={12} />
        </label>
        <button type="submit">compare</button>
        <span class="hint">seconds, 100ms, 4m12s, 50%, peak or end</span>
      </form>
      <p class="controls">
        <Link to={toView(address, "flamegraph", { before, then: after, alive_at: null })}>as a flame graph</Link>
        <Link to={toView(address, "live", { alive_at: before })}>what was live at {before}</Link>
        <Link to={toView(address, "live", { alive_at: after })}>what was live at {after}</Link>
      </p>
      {rows.length > 0 ? (
        <Table rows={rows} columns={shownColumns(rows, null)} caption="what changed between two instants" cell={makeCell(address)} />
      ) : (
        <Notice answer={answer} empty="nothing changed" />
      )}
    </section>
  );
}

// The same place in another build may have moved by some lines: it is known by function and file.
function keyOf(row: Row): string {
  return [row.function ?? row.module, row.source === null ? null : baseName(String(row.source))].join("\n");
}

function changes(before: readonly Row[], after: readonly Row[], measure: string): Row[] {
  const made = new Map<string, Row>();
  const add = (row: Row, side: "before" | "after", sign: number) => {
    const key = keyOf(row);
    const one = made.get(key) ?? { change: 0, before: 0, after: 0 };
    const value = Number(row[measure] ?? 0);
    made.set(key, { ...one, change: Number(one.change) + sign * value, [side]: Number(one[side]) + value, function: row.function ?? null, source: row.source ?? null, line: row.line ?? null, module: row.module ?? null });
  };
  before.forEach((row) => add(row, "before", -1));
  after.forEach((row) => add(row, "after", 1));
  const unit = measure.slice(measure.lastIndexOf("_"));
  return [...made.values()]
    .filter((row) => row.change !== 0)
    .sort((a, b) => Math.abs(Number(b.change)) - Math.abs(Number(a.change)))
    .map(({ change, before: b, after: a, ...place }) => ({ [`change${unit}`]: change, [`before${unit}`]: b, [`after${unit}`]: a, ...place }) as Row);
}

function TwoRecordings({ address, other, meta }: { address: Address; other: string; meta: Meta }) {
  const measure = MEASURES.find((name) => name === valueOf(address, "measure")) ?? "leaked_bytes";
  const before = useSql(other, TOTALS);
  const after = useSql(address.recording, TOTALS);
  const rows = useMemo(() => changes(before.data ?? [], after.data ?? [], measure).slice(0, 200), [before.data, after.data, measure]);
  const name = (id: string) => meta.recordings.find((recording) => recording.id === id)?.name ?? id;
  return (
    <section aria-busy={before.isLoading || after.isLoading}>
      <p class="controls">
        <label>
          measure{" "}
          <select value={measure} onChange={(event) => go(withValues(address, { measure: event.currentTarget.value }))}>
            {MEASURES.map((one) => (
              <option key={one} value={one}>
                {one.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </label>
        <Link to={{ recording: other, view: "overview", parameters: [] }}>before: {name(other)}</Link>
        <Link to={toView(address, "overview")}>after: {name(address.recording)}</Link>
      </p>
      {rows.length > 0 && before.data && after.data ? (
        <Table rows={rows} columns={shownColumns(rows, null)} caption={`${measure} of two recordings`} cell={makeCell(address)} />
      ) : (
        <Notice answer={before.data ? after : before} empty="no difference" />
      )}
    </section>
  );
}

export function Diff({ address, meta }: PageProps) {
  const other = valueOf(address, "with");
  return (
    <>
      {meta.recordings.length > 1 && (
        <p class="controls">
          <label>
            compare with{" "}
            <select value={other ?? ""} onChange={(event) => go(withValues(address, { with: event.currentTarget.value || null, before: null, then: null }))}>
              <option value="">another instant of this recording</option>
              {meta.recordings.filter((one) => one.id !== address.recording).map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </select>
          </label>
        </p>
      )}
      {other ? <TwoRecordings address={address} other={other} meta={meta} /> : <Instants address={address} />}
    </>
  );
}
