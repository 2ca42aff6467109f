// SPDX-License-Identifier: MIT
// sql_editor: a text field for a statement, with completion below it.

import { useRef, useState } from "preact/hooks";
import { matching, wordAt, type Word } from "./sql_completion";

interface SqlEditorProps {
  text: string;
  words: readonly Word[];
  onText: (text: string) => void;
  onRun: () => void;
}

export function SqlEditor({ text, words, onText, onRun }: SqlEditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const found = matching(words, typed);
  const look = () => {
    setTyped(wordAt(field.current?.value ?? "", field.current?.selectionStart ?? 0));
    setChosen(0);
  };
  const take = (word: Word | undefined) => {
    const at = field.current?.selectionStart ?? text.length;
    if (!word || !field.current) return;
    field.current.setRangeText(word.text, at - typed.length, at, "end");
    onText(field.current.value);
    setTyped("");
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun();
    else if (found.length === 0) return;
    else if (event.key === "Tab" || event.key === "Enter") take(found[chosen]);
    else if (event.key === "ArrowDown") setChosen((chosen + 1) % found.length);
    else if (event.key === "ArrowUp") setChosen((chosen + found.length - 1) % found.length);
    else if (event.key === "Escape") setTyped("");
    else return;
    event.preventDefault();
  };
  return (
    <div class="sql-editor">
      <textarea
        ref={field}
        value={text}
        rows={8}
        spellcheck={false}
        aria-label="SQL statement; Ctrl and Enter run it, Tab takes a completion"
        aria-controls="sql-words"
        onInput={(event) => {
          onText(event.currentTarget.value);
          look();
        }}
        onClick={() => setTyped("")}
        onBlur={() => setTyped("")}
        onKeyDown={press}
      />
      <ul id="sql-words" role="listbox" aria-label="completions" hidden={found.length === 0}>
        {found.map((word, index) => (
          <li
            key={word.text}
            role="option"
            aria-selected={index === chosen}
            onPointerDown={(event) => {
              event.preventDefault();
              take(word);
            }}
          >
            <code>{word.text}</code> <span class="hint">{word.help}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
