// SPDX-License-Identifier: MIT
// diff: what changed between two instants of a recording.

import { filtersOf, go, valueOf, withValues, type Address } from "../address";
import { apiAddress, useJson, type Row } from "../api";
import { Notice } from "../notice";
import { shownColumns, Table } from "../table";

export function Diff({ address }: { address: Address }) {
  const [before, after] = [valueOf(address, "before"), valueOf(address, "after")];
  const filters = filtersOf(address).filter(([name]) => name !== "alive_at");
  const answer = useJson<Row[]>(before && after ? apiAddress(address.recording, "diff", [["alive_at", before], ["alive_at", after], ...filters]) : null);
  const rows = answer.data ?? [];
  const choose = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    go(withValues(address, { before: String(form.get("before") || "") || null, after: String(form.get("after") || "") || null }));
  };
  return (
    <section>
      <form class="controls" onSubmit={choose} key={`${before} ${after}`}>
        <label>
          from <input name="before" defaultValue={before ?? "10%"} size={12} />
        </label>
        <label>
          to <input name="after" defaultValue={after ?? "end"} size={12} />
        </label>
        <button type="submit">compare</button>
        <span class="hint">seconds, 100ms, 4m12s, 50%, peak or end</span>
      </form>
      {rows.length > 0 ? (
        <Table rows={rows} columns={shownColumns(rows, null)} caption="what changed between two instants" />
      ) : (
        <Notice answer={answer} empty={before && after ? "nothing changed" : "Choose two instants."} />
      )}
    </section>
  );
}
