// SPDX-License-Identifier: MIT
// tree: the call tree that the flame graph and the call tree show, and the choices both have.

import { useMemo } from "preact/hooks";
import { filtersOf, go, valueOf, withValues, type Address, type Parameter } from "./address";
import { apiAddress, useJson, type Answer } from "./api";
import { compare, type TreeRow, type Unit } from "./flame";

const MEASURES: ReadonlyArray<readonly [name: string, text: string]> = [
  ["peak", "live at the peak"],
  ["live", "live at a time"],
  ["leaked", "leaked"],
  ["allocated", "allocated"],
  ["temporary", "temporary"],
  ["freed", "freed"],
];

export interface TreeChoice {
  readonly measure: string;
  readonly unit: Unit;
  readonly isInverted: boolean;
  readonly instants: readonly [before: string, after: string] | null; // compared
}

export function choiceOf(address: Address): TreeChoice {
  const [before, after] = [valueOf(address, "before"), valueOf(address, "then")];
  return {
    measure: before && after ? "live" : (valueOf(address, "measure") ?? (valueOf(address, "alive_at") ? "live" : "peak")),
    unit: valueOf(address, "by") === "blocks" ? "blocks" : "bytes",
    isInverted: valueOf(address, "bottom_up") !== undefined,
    instants: before && after ? [before, after] : null,
  };
}

function queryAt(address: Address, choice: TreeChoice, minShare: string, instant: string | null): string {
  const isLive = choice.measure === "live";
  const filters = filtersOf(address).filter(([name]) => name !== "alive_at" || (isLive && instant === null));
  const at = isLive && !filters.some(([name]) => name === "alive_at") ? [["alive_at", instant ?? "peak"]] : [];
  const query = [...filters, ...at, ["measure", choice.measure], ["by", choice.unit], ["min_share", minShare], ["count", "0"], ...(choice.isInverted ? [["bottom_up", "yes"]] : [])];
  return apiAddress(address.recording, "tree", query as Parameter[]);
}

// Of one instant or measure, or the difference of two times.
export function useTree(address: Address, minShare: string): Answer<TreeRow[]> {
  const choice = choiceOf(address);
  const one = useJson<TreeRow[]>(queryAt(address, choice, minShare, choice.instants?.[1] ?? null));
  const before = useJson<TreeRow[]>(choice.instants ? queryAt(address, choice, minShare, choice.instants[0]) : null);
  const both = useMemo(() => (choice.instants && before.data && one.data ? compare(before.data, one.data, choice.unit) : undefined), [before.data, one.data, choice.unit, choice.instants === null]);
  if (!choice.instants) return one;
  return { data: both, error: one.error ?? before.error, isLoading: one.isLoading || before.isLoading };
}

export function TreeForm({ address }: { address: Address }) {
  const choice = choiceOf(address);
  const instant = valueOf(address, "alive_at") ?? "peak";
  const set = (name: string) => (event: Event) => go(withValues(address, { [name]: (event.currentTarget as HTMLInputElement).value || null }));
  const compareWith = (event: Event) => go(withValues(address, (event.currentTarget as HTMLInputElement).checked ? { before: "10%", then: "95%", alive_at: null } : { before: null, then: null }));
  return (
    <>
      {!choice.instants && (
        <label>
          measure{" "}
          <select value={choice.measure} onChange={set("measure")}>
            {MEASURES.map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
      )}
      {!choice.instants && choice.measure === "live" && (
        <label>
          at <input value={instant} size={10} onChange={set("alive_at")} />
        </label>
      )}
      <label>
        in{" "}
        <select value={choice.unit} onChange={set("by")}>
          <option>bytes</option>
          <option>blocks</option>
        </select>
      </label>
      <label>
        <input type="checkbox" checked={choice.isInverted} onChange={(event) => go(withValues(address, { bottom_up: event.currentTarget.checked ? "yes" : null }))} /> innermost functions first
      </label>
      <label>
        <input type="checkbox" checked={choice.instants !== null} onChange={compareWith} /> difference of two times
      </label>
      {choice.instants && (
        <>
          <label>
            from <input value={choice.instants[0]} size={8} onChange={set("before")} />
          </label>
          <label>
            to <input value={choice.instants[1]} size={8} onChange={set("then")} />
          </label>
        </>
      )}
    </>
  );
}

export function labelOf(address: Address): string {
  const choice = choiceOf(address);
  if (choice.instants) return `difference of live ${choice.unit} from ${choice.instants[0]} to ${choice.instants[1]}`;
  return `${MEASURES.find(([name]) => name === choice.measure)?.[1] ?? choice.measure}, in ${choice.unit}`;
}
