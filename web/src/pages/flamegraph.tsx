// SPDX-License-Identifier: MIT
// flamegraph: the call tree of any measure, at any instant or as a difference, from main or from the innermost functions.

import { useMemo } from "preact/hooks";
import { go, toView, valueOf, withValues } from "../address";
import type { PageProps } from "../app";
import { escapeRegex } from "../completions";
import { layOut, type FlameNode } from "../flame";
import { FlameCanvas } from "../flame_canvas";
import { openMenu } from "../menu";
import { Notice } from "../notice";
import { isDark } from "../settings";
import { choiceOf, labelOf, TreeForm, useTree } from "../tree";

const MIN_SHARE = "0.01%";

export function Flamegraph({ address }: PageProps) {
  const search = valueOf(address, "search") ?? "";
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
          search <input type="search" value={search} onInput={(event) => go(withValues(address, { search: event.currentTarget.value || null }), "replace")} placeholder="a name or a regular expression" />
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
