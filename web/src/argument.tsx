// SPDX-License-Identifier: MIT
// argument: the one thing that a view is about: a function, a file, an address, a block.

import { go, toView, valueOf, type Address } from "./address";

export function ArgumentForm({ address, label, names = [] }: { address: Address; label: string; names?: readonly string[] }) {
  const value = valueOf(address, "argument") ?? "";
  const choose = (event: Event) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get("argument") ?? "");
    go(toView(address, address.view, { argument: text || null }));
  };
  return (
    <form class="controls" onSubmit={choose} key={value}>
      <label class="wide">
        {label} <input name="argument" defaultValue={value} spellcheck={false} list={names.length > 0 ? "argument-names" : undefined} />
      </label>
      {names.length > 0 && (
        <datalist id="argument-names">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
      <button type="submit">show</button>
    </form>
  );
}
