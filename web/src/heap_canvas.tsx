// SPDX-License-Identifier: MIT
// heap_canvas: the pages of one heap as a grid of cells.

import { useEffect, useRef, useState } from "preact/hooks";
import { PAGE_BYTES, isPinned, type Heap, type Page } from "./heap_pages";

export type Colouring = "use" | "site";

const CELL = 9;

interface HeapCanvasProps {
  heap: Heap;
  colouring: Colouring;
  dark: boolean;
  label: string;
  chosen: number | null; // index of a page
  onPage: (index: number) => void;
  onOpen: (index: number, x: number, y: number) => void;
}

export function colourOfPage(page: Page | undefined, colouring: Colouring, dark: boolean): string {
  if (!page) return dark ? "#252a31" : "#eceff3";
  if (colouring === "site") return page.site < 0 ? (dark ? "#7d8794" : "#8a94a0") : `hsl(${(page.site * 137) % 360} ${dark ? 50 : 60}% ${dark ? 50 : 55}%)`;
  const share = Math.min(1, page.bytes / PAGE_BYTES);
  return `hsl(${50 + 180 * share} 75% ${dark ? 62 - 22 * share : 62 - 30 * share}%)`;
}

export function HeapCanvas({ heap, colouring, dark, label, chosen, onPage, onOpen }: HeapCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const columns = Math.max(1, Math.floor(width / CELL));
  useEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return undefined;
    const resize = new ResizeObserver(() => setWidth(box.clientWidth));
    resize.observe(box);
    return () => resize.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width > 0) paint(canvas.current, heap, colouring, dark, columns, chosen);
  }, [heap, colouring, dark, columns, chosen, width]);
  const indexAt = (event: MouseEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const column = Math.min(columns - 1, Math.floor((event.clientX - box.left) / CELL));
    return Math.min(heap.pages.length - 1, Math.floor((event.clientY - box.top) / CELL) * columns + column);
  };
  const press = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    const box = (event.currentTarget as Element).getBoundingClientRect();
    if (by !== undefined) onPage(Math.max(0, Math.min(heap.pages.length - 1, (chosen ?? 0) + by)));
    else if (event.key === "Enter") onOpen(chosen ?? 0, box.left + ((chosen ?? 0) % columns) * CELL, box.top + Math.floor((chosen ?? 0) / columns) * CELL);
    else return;
    event.preventDefault();
  };
  return (
    <div class="heap">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`${label}; arrow keys walk from page to page, Enter opens what is in it`}
        onMouseMove={(event) => onPage(indexAt(event))}
        onClick={(event) => onOpen(indexAt(event), event.clientX, event.clientY)}
        onKeyDown={press}
      />
    </div>
  );
}

function paint(element: HTMLCanvasElement, heap: Heap, colouring: Colouring, dark: boolean, columns: number, chosen: number | null): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [columns * CELL, Math.ceil(heap.pages.length / columns) * CELL];
  const context = element.getContext("2d");
  if (!context) return;
  element.width = Math.round(width * ratio);
  element.height = Math.round(height * ratio);
  element.style.width = `${width}px`;
  element.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  for (let i = 0; i < heap.pages.length; i++) {
    const [left, top] = [(i % columns) * CELL, Math.floor(i / columns) * CELL];
    const page = heap.pages[i];
    context.fillStyle = i > heap.topmost ? (dark ? "#1a1e23" : "#f6f8fa") : colourOfPage(page, colouring, dark);
    context.fillRect(left, top, CELL - 1, CELL - 1);
    if (page && isPinned(page)) {
      context.fillStyle = dark ? "#ff9b9b" : "#a4161a";
      context.fillRect(left + 2, top + 2, 4, 4);
    }
    if (i === chosen) {
      context.strokeStyle = dark ? "#fff" : "#000";
      context.strokeRect(left - 0.5, top - 0.5, CELL, CELL);
    }
  }
}
