// SPDX-License-Identifier: MIT
// callers: one function between those that call it and those that it calls.

import { filtersOf, go, toView, valueOf, withValues, type Address } from "../address";
import { useRows, type Row } from "../api";
import { formatCell } from "../format";
import { Link } from "../link";
import { Notice } from "../notice";
import { shownColumns, Table } from "../table";

function Side({ address, command, name, title }: { address: Address; command: "callers" | "callees"; name: string; title: string }) {
  const answer = useRows(address.recording, command, [["argument", name], ["count", "0"], ...filtersOf(address)]);
  const rows = answer.data ?? [];
  const cell = (column: string, row: Row) =>
    column === "function" && row.function ? (
      <Link to={toView(address, "callers", { argument: String(row.function) })} title={String(row.function)}>
        {formatCell(column, row.function)}
      </Link>
    ) : undefined;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {rows.length > 0 ? <Table rows={rows} columns={shownColumns(rows, null)} caption={title} cell={cell} /> : <Notice answer={answer} empty="none" />}
    </section>
  );
}

export function Callers({ address }: { address: Address }) {
  const name = valueOf(address, "argument") ?? "";
  const choose = (event: Event) => {
    event.preventDefault();
    const value = new FormData(event.currentTarget as HTMLFormElement).get("name");
    go(withValues(address, { argument: String(value ?? "") || null }));
  };
  return (
    <>
      <form class="controls" onSubmit={choose}>
        <label>
          function <input name="name" type="search" defaultValue={name} key={name} spellcheck={false} />
        </label>
        <button type="submit">show</button>
      </form>
      {name ? (
        <div class="two-columns">
          <Side address={address} command="callers" name={name} title={`who calls ${name}`} />
          <Side address={address} command="callees" name={name} title={`what ${name} calls`} />
        </div>
      ) : (
        <p class="notice">Name a function, or choose one in a flame graph or a stack.</p>
      )}
    </>
  );
}
