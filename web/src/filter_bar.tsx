// SPDX-License-Identifier: MIT
// filter_bar: what every view is restricted to: a badge for each filter, and one field with the grammar of the command line.

import { useState } from "preact/hooks";
import { filtersOf, go, withoutParameter, type Address, type Parameter } from "./address";
import type { FilterParameter, Meta } from "./api";

// "size_min=4KiB lifetime=only_leaked" as parameters, or what is wrong with it. Values in "…" may have spaces.
export function parseFilters(text: string, known: readonly FilterParameter[]): Parameter[] | string {
  const found: Parameter[] = [];
  for (const piece of text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []) {
    const equals = piece.indexOf("=");
    const name = piece.slice(0, equals).replace(/^--/, "").replaceAll("-", "_");
    const parameter = equals > 0 ? known.find((p) => p.name === name || p.alias?.replaceAll("-", "_") === name) : undefined;
    if (!parameter) return equals > 0 ? `there is no filter "${name}"` : `"${piece}": name=value is expected`;
    found.push([parameter.name, piece.slice(equals + 1).replaceAll('"', "")]);
  }
  return found;
}

function suggestions(text: string, known: readonly FilterParameter[]): Array<{ value: string; help: string }> {
  const before = text.slice(0, text.lastIndexOf(" ") + 1);
  const piece = text.slice(before.length);
  return piece.includes("=") ? [] : known.map((p) => ({ value: `${before}${p.name}=`, help: p.help }));
}

export function FilterBar({ meta, address }: { meta: Meta; address: Address }) {
  const [text, setText] = useState("");
  const [complaint, setComplaint] = useState("");
  const known = meta.filters;
  const add = (event: Event) => {
    event.preventDefault();
    const parsed = parseFilters(text, known);
    if (typeof parsed === "string") {
      setComplaint(parsed);
      return;
    }
    setText("");
    setComplaint("");
    if (parsed.length > 0) go({ ...address, parameters: [...address.parameters, ...parsed] });
  };
  return (
    <form class="filter-bar" onSubmit={add} role="search" aria-label="filters">
      <ul class="badges" aria-label="active filters">
        {filtersOf(address).map((parameter, index) => (
          <li key={index} class="badge" title={known.find((p) => p.name === parameter[0])?.help}>
            {parameter[0]}={parameter[1]}
            <button type="button" aria-label={`remove ${parameter[0]}=${parameter[1]}`} onClick={() => go(withoutParameter(address, parameter))}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <input
        type="text"
        list="filter-names"
        value={text}
        aria-label="add a filter, as size_min=4KiB"
        placeholder="add a filter: size_min=4KiB, function_regex=parse, lifetime=only_leaked …"
        aria-invalid={complaint !== ""}
        aria-describedby="filter-complaint"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          setText(event.currentTarget.value);
          setComplaint("");
        }}
      />
      <datalist id="filter-names">
        {suggestions(text, known).map(({ value, help }) => (
          <option key={value} value={value}>
            {help}
          </option>
        ))}
      </datalist>
      <button type="submit">add</button>
      <span id="filter-complaint" class="complaint" role="alert">
        {complaint}
      </span>
    </form>
  );
}
