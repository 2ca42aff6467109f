// SPDX-License-Identifier: MIT
// instant: at which instant a view about one is asked.

import { go, valueOf, withValues, type Address, type Parameter } from "./address";

// The views that are about an instant take the peak where the address has none.
export function instantOf(address: Address): string {
  return valueOf(address, "alive_at") ?? "peak";
}

export function withInstant(parameters: readonly Parameter[], address: Address): Parameter[] {
  return parameters.some(([name]) => name === "alive_at") ? [...parameters] : [...parameters, ["alive_at", instantOf(address)]];
}

export function InstantForm({ address }: { address: Address }) {
  const instant = instantOf(address);
  const choose = (event: Event) => {
    event.preventDefault();
    const value = new FormData(event.currentTarget as HTMLFormElement).get("instant");
    go(withValues(address, { alive_at: String(value || "peak") }));
  };
  return (
    <form class="controls" onSubmit={choose}>
      <label>
        at <input name="instant" defaultValue={instant} key={instant} size={12} />
      </label>
      <button type="submit">show</button>
      <span class="hint">seconds, 100ms, 50%, peak or end</span>
    </form>
  );
}
