// SPDX-License-Identifier: MIT
// picture: an SVG that the server draws, as the heap map, in a frame of its own.

import { filtersOf, go, valueOf, withValues, type Address } from "../address";
import { apiAddress } from "../api";

export function HeapMap({ address }: { address: Address }) {
  const instant = valueOf(address, "alive_at") ?? "peak";
  const choose = (event: Event) => {
    event.preventDefault();
    const value = new FormData(event.currentTarget as HTMLFormElement).get("instant");
    go(withValues(address, { alive_at: String(value || "peak") }));
  };
  const filters = filtersOf(address).filter(([name]) => name === "process");
  return (
    <section>
      <form class="controls" onSubmit={choose}>
        <label>
          at <input name="instant" defaultValue={instant} key={instant} size={12} />
        </label>
        <button type="submit">show</button>
        <span class="hint">seconds, 50%, peak or end</span>
      </form>
      <iframe class="picture" title={`the heaps at ${instant}`} sandbox="allow-scripts" src={apiAddress(address.recording, "heap-map", [["alive_at", instant], ["format", "svg"], ...filters])} />
    </section>
  );
}
