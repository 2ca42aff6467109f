// SPDX-License-Identifier: MIT
// flamegraph: the call tree of any measure, at any instant, from main or from the innermost functions.

import { useMemo, useState } from "preact/hooks";
import { filtersOf, go, toView, valueOf, withValues, type Address } from "../address";
import { apiAddress, useJson } from "../api";
import { layOut, type TreeRow } from "../flame";
import { FlameCanvas } from "../flame_canvas";
import { Notice } from "../notice";

const MEASURES = ["peak", "leaked", "allocated", "temporary", "freed", "live"];

export function Flamegraph({ address }: { address: Address }) {
  const [search, setSearch] = useState("");
  const measure = valueOf(address, "measure") ?? (valueOf(address, "alive_at") ? "live" : "peak");
  const by = valueOf(address, "by") === "blocks" ? "blocks" : "bytes";
  const isInverted = valueOf(address, "bottom_up") !== undefined;
  const question = [...filtersOf(address), ["measure", measure], ["by", by], ["min_share", "0.02%"], ["count", "0"], ...(isInverted ? [["bottom_up", "yes"]] : [])] as Array<[string, string]>;
  const answer = useJson<TreeRow[]>(apiAddress(address.recording, "tree", question));
  const nodes = useMemo(() => layOut(answer.data ?? [], by), [answer.data, by]);
  return (
    <section aria-busy={answer.isLoading} class={answer.isLoading ? "stale" : ""}>
      <form class="controls" onSubmit={(event) => event.preventDefault()}>
        <label>
          measure{" "}
          <select value={measure} onChange={(event) => go(withValues(address, { measure: event.currentTarget.value }))}>
            {MEASURES.filter((name) => name !== "live" || valueOf(address, "alive_at")).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          in{" "}
          <select value={by} onChange={(event) => go(withValues(address, { by: event.currentTarget.value }))}>
            <option>bytes</option>
            <option>blocks</option>
          </select>
        </label>
        <label>
          <input type="checkbox" checked={isInverted} onChange={(event) => go(withValues(address, { bottom_up: event.currentTarget.checked ? "yes" : null }))} /> innermost functions first
        </label>
        <label>
          search <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} placeholder="a name or a regular expression" />
        </label>
      </form>
      {nodes.length > 0 && nodes[0]?.value ? (
        <FlameCanvas
          nodes={nodes}
          unit={by}
          search={search}
          label={`flame graph of ${measure} ${by}`}
          onOpen={(node) => node.name && go(toView(address, "callers", { argument: node.name }))}
        />
      ) : (
        <Notice answer={answer} empty={`no stack has any ${measure} ${by}`} />
      )}
    </section>
  );
}
