// SPDX-License-Identifier: MIT
// flamegraph: the call tree of any measure, at any instant or as a difference, from main or from the innermost functions.

import { useEffect, useMemo, useState } from "preact/hooks";
import { go, parseAddress, toView, valueOf, withValues, type Address } from "../address";
import type { PageProps } from "../app";
import { escapeRegex } from "../completions";
import { layOut, type FlameNode } from "../flame";
import { FlameCanvas } from "../flame_canvas";
import { openMenu } from "../menu";
import { Notice } from "../notice";
import { isDark } from "../settings";
import { choiceOf, labelOf, TreeForm, useTree } from "../tree";

const MIN_SHARE = "0.01%";
const ADDRESS_MS = 200;

// What is searched, at once on the canvas and a little later in the address, which the browser takes longer for than for a frame.
function useSearch(address: Address): readonly [search: string, setSearch: (text: string) => void] {
  const said = valueOf(address, "search") ?? "";
  const [search, setSearch] = useState(said);
  useEffect(() => setSearch(said), [said]);
  useEffect(() => {
    const later = setTimeout(() => go(withValues(parseAddress(location), { search: search || null }), "replace"), ADDRESS_MS);
    return () => clearTimeout(later);
  }, [search]);
  return [search, setSearch];
}

export function Flamegraph({ address }: PageProps) {
  const [search, setSearch] = useSearch(address);
  const { unit } = choiceOf(address);
  const answer = useTree(address, MIN_SHARE);
  const nodes = useMemo(() => layOut(answer.data ?? [], unit, isDark()), [answer.data, unit]);
  const open = (node: FlameNode, x: number, y: number) => {
    if (!node.name) return;
    const name = `^${escapeRegex(node.name)}$`;
    openMenu(x, y, node.name, [
      ["callers and callees", toView(address, "callers", { argument: node.name })],
      ["only stacks with it", withValues(address, { function_regex: name })],
      ["without stacks with it", withValues(address, { negative_function_regex: name })],
      ["its stacks as a table", toView(address, "groups", { function_regex: name })],
    ]);
  };
  return (
    <section aria-busy={answer.isLoading} class={answer.isLoading ? "stale" : ""}>
      <form class="controls" onSubmit={(event) => event.preventDefault()}>
        <TreeForm address={address} />
        <label>
          search <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} placeholder="a name or a regular expression" />
        </label>
      </form>
      {nodes.length > 0 && nodes[0]?.value ? (
        <FlameCanvas nodes={nodes} unit={unit} search={search} label={`flame graph: ${labelOf(address)}`} onOpen={open} />
      ) : (
        <Notice answer={answer} empty={`no stack has anything: ${labelOf(address)}`} />
      )}
      <p class="hint">Click a box to zoom, right-click for what can be done with it. Colours stand for modules{choiceOf(address).instants ? "; here red grew and blue shrank" : ""}.</p>
    </section>
  );
}
