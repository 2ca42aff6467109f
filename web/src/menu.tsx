// SPDX-License-Identifier: MIT
// menu: what can be done with a thing, where the mouse or the keyboard is. One is open at a time.

import { useEffect, useRef, useState } from "preact/hooks";
import { formatAddress, go, type Address } from "./address";

export type MenuEntry = readonly [text: string, to: Address];

interface OpenMenu {
  readonly title: string;
  readonly entries: readonly MenuEntry[];
  readonly x: number;
  readonly y: number;
}

let show: (menu: OpenMenu | null) => void = () => {};

export function openMenu(x: number, y: number, title: string, entries: readonly MenuEntry[]): void {
  show({ x, y, title, entries });
}

// Below the element that was pressed.
export function openMenuAt(element: Element, title: string, entries: readonly MenuEntry[]): void {
  const box = element.getBoundingClientRect();
  openMenu(box.left, box.bottom + 2, title, entries);
}

function step(list: HTMLElement, by: number): void {
  const items = [...list.querySelectorAll<HTMLElement>("a")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  items[(at + by + items.length) % items.length]?.focus();
}

export function MenuHost() {
  const [menu, setMenu] = useState<OpenMenu | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLElement | null>(null);
  useEffect(() => {
    show = (next) => {
      opener.current = document.activeElement as HTMLElement | null;
      setMenu(next);
    };
  }, []);
  const close = () => {
    setMenu(null);
    opener.current?.focus();
  };
  useEffect(() => {
    const element = box.current;
    if (!menu || !element) return undefined;
    const size = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(menu.x, innerWidth - size.width - 8))}px`;
    element.style.top = `${Math.max(4, Math.min(menu.y, innerHeight - size.height - 8))}px`;
    element.querySelector("a")?.focus();
    const outside = (event: Event) => !element.contains(event.target as Node) && setMenu(null);
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [menu]);
  if (!menu) return null;
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === "ArrowDown") step(box.current as HTMLElement, 1);
    else if (event.key === "ArrowUp") step(box.current as HTMLElement, -1);
    else return;
    event.preventDefault();
  };
  return (
    <div ref={box} class="menu" role="menu" aria-label={menu.title} onKeyDown={press}>
      <p role="presentation">{menu.title}</p>
      {menu.entries.map(([text, to]) => (
        <a
          key={text}
          role="menuitem"
          href={formatAddress(to)}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            setMenu(null);
            go(to);
          }}
        >
          {text}
        </a>
      ))}
    </div>
  );
}
