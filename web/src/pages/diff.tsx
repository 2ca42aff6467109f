// SPDX-License-Identifier: MIT
// diff: what changed between two instants of a recording, or between two recordings.

import { filtersOf, go, toView, valueOf, withValues, type Address } from "../address";
import { apiAddress, useJson, type Meta, type Row } from "../api";
import type { PageProps } from "../app";
import { makeCell } from "../cell_menu";
import { Link } from "../link";
import { Notice } from "../notice";
import { comparedInstants, diffQuery } from "../query";
import { shownColumns, Table } from "../table";

const MEASURES = ["leaked", "peak", "allocated", "temporary", "freed"] as const;

function Instants({ address }: { address: Address }) {
  const [before, after] = comparedInstants(address);
  const answer = useJson<Row[]>(apiAddress(address.recording, "diff", diffQuery(address)));
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
        <Table rows={rows} columns={shownColumns(rows, null)} caption="what changed between two times" cell={makeCell(address)} />
      ) : (
        <Notice answer={answer} empty="nothing changed" />
      )}
    </section>
  );
}

function Choice({ address, name, values, value }: { address: Address; name: string; values: readonly string[]; value: string }) {
  return (
    <label>
      {name}{" "}
      <select value={value} onChange={(event) => go(withValues(address, { [name]: event.currentTarget.value }))}>
        {values.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

// The filters hold for both sides: a function or a size is the same in each, ids of stacks and call sites are not.
function TwoRecordings({ address, other, meta }: { address: Address; other: string; meta: Meta }) {
  const measure = MEASURES.find((name) => name === valueOf(address, "measure")) ?? "leaked";
  const unit = valueOf(address, "by") === "blocks" ? "blocks" : "bytes";
  const filters = filtersOf(address).filter(([name]) => name !== "alive_at");
  const answer = useJson<Row[]>(apiAddress(other, "diff", [["argument", address.recording], ["measure", measure], ["by", unit], ["count", "200"], ...filters]));
  const rows = answer.data ?? [];
  const name = (id: string) => meta.recordings.find((recording) => recording.id === id)?.name ?? id;
  const side = (recording: string, view: string): Address => ({ ...toView(address, view, view === "flamegraph" ? { measure, by: unit } : {}), recording });
  return (
    <section aria-busy={answer.isLoading}>
      <p class="controls">
        <Choice address={address} name="measure" values={MEASURES} value={measure} />
        <Choice address={address} name="by" values={["bytes", "blocks"]} value={unit} />
        <Link to={side(other, "overview")}>before: {name(other)}</Link>
        <Link to={side(other, "flamegraph")}>its flame graph</Link>
        <Link to={side(address.recording, "overview")}>after: {name(address.recording)}</Link>
        <Link to={side(address.recording, "flamegraph")}>its flame graph</Link>
      </p>
      {rows.length > 0 ? (
        <Table rows={rows} columns={shownColumns(rows, null)} caption={`${measure} ${unit} of two recordings`} cell={makeCell(address)} />
      ) : (
        <Notice answer={answer} empty="no difference" />
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
