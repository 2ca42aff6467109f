// SPDX-License-Identifier: MIT
// filter_bar: what every view is restricted to: a badge for each filter, and one field with the grammar of the command line.

import { useEffect, useRef, useState } from "preact/hooks";
import { filtersOf, go, withoutParameter, type Address, type Parameter } from "./address";
import type { FilterParameter, Meta } from "./api";
import { useCompletions, type Completion } from "./completions";

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

function Badges({ address, known }: { address: Address; known: readonly FilterParameter[] }) {
  return (
    <ul class="badges" aria-label="active filters">
      {filtersOf(address).map((parameter, index) => (
        <li key={index} class="badge" title={known.find((p) => p.name === parameter[0])?.help}>
          <span>
            {parameter[0]}={parameter[1]}
          </span>
          <button type="button" aria-label={`remove ${parameter[0]}=${parameter[1]}`} onClick={() => go(withoutParameter(address, parameter))}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

interface FieldProps {
  text: string;
  isWrong: boolean;
  completions: readonly Completion[];
  onText: (text: string) => void;
}

// A text field with a list below it, as WAI-ARIA's combobox has it.
function Field({ text, isWrong, completions, onText }: FieldProps) {
  const [chosen, setChosen] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setChosen(-1), [text]);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const slash = (event: KeyboardEvent) => {
      if (event.key !== "/" || /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName)) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);
  const isShown = isOpen && completions.length > 0;
  const take = (completion: Completion | undefined) => {
    if (completion) onText(completion.text);
  };
  const press = (event: KeyboardEvent) => {
    const last = completions.length - 1;
    if (event.key === "Escape") setOpen(false);
    else if (!isShown) return;
    else if (event.key === "ArrowDown") setChosen(chosen >= last ? 0 : chosen + 1);
    else if (event.key === "ArrowUp") setChosen(chosen <= 0 ? last : chosen - 1);
    else if (event.key === "Tab" && text !== "" && !event.shiftKey) take(completions[Math.max(0, chosen)]);
    else if (event.key === "Enter" && chosen >= 0) take(completions[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="combobox">
      <input
        ref={field}
        type="text"
        role="combobox"
        value={text}
        aria-label="add a filter, as size_min=4KiB"
        aria-expanded={isShown}
        aria-controls="completions"
        aria-autocomplete="list"
        aria-activedescendant={isShown && chosen >= 0 ? `completion-${chosen}` : undefined}
        aria-invalid={isWrong}
        aria-describedby="filter-complaint"
        placeholder="/ to add a filter: size_min=4KiB, function_regex=parse, lifetime=only_leaked …"
        spellcheck={false}
        autocomplete="off"
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
        onInput={(event) => {
          onText(event.currentTarget.value);
          setOpen(true);
        }}
      />
      <ul id="completions" role="listbox" aria-label="completions" hidden={!isShown}>
        {completions.map((completion, index) => (
          <li
            key={completion.text}
            id={`completion-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerDown={(event) => {
              event.preventDefault();
              take(completion);
            }}
          >
            <code>{completion.label}</code> <span class="hint">{completion.help}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function FilterBar({ meta, address }: { meta: Meta; address: Address }) {
  const [text, setText] = useState("");
  const [complaint, setComplaint] = useState("");
  const completions = useCompletions(text, address, meta.filters);
  const add = (event: Event) => {
    event.preventDefault();
    const parsed = parseFilters(text, meta.filters);
    if (typeof parsed === "string") {
      setComplaint(parsed);
      return;
    }
    setText("");
    setComplaint("");
    if (parsed.length > 0) go({ ...address, parameters: [...address.parameters, ...parsed] });
  };
  const change = (next: string) => {
    setText(next);
    setComplaint("");
  };
  return (
    <form class="filter-bar" onSubmit={add} role="search" aria-label="filters">
      <Badges address={address} known={meta.filters} />
      <Field text={text} isWrong={complaint !== ""} completions={completions} onText={change} />
      <button type="submit">add</button>
      <span id="filter-complaint" class="complaint" role="alert">
        {complaint}
      </span>
    </form>
  );
}
