// SPDX-License-Identifier: MIT
// heap_pages: live blocks as pages of their heaps. No drawing.

import type { Row } from "./api";

export const PAGE_BYTES = 4096;

export interface LiveBlock {
  readonly id: number;
  readonly address: number;
  readonly bytes: number; // usable
  readonly site: number;
}

export interface Page {
  bytes: number; // of live blocks
  site: number; // of all its blocks; -1: of several
  blocks: LiveBlock[];
}

export interface Heap {
  readonly id: number;
  readonly kind: string;
  readonly start: number; // of its first page
  readonly pages: ReadonlyArray<Page | undefined>; // up to the end it had; undefined: free
  readonly topmost: number; // index of the last page with a live byte; -1: none
}

function addBlock(pages: Array<Page | undefined>, start: number, block: LiveBlock): void {
  const end = block.address + Math.max(1, block.bytes);
  for (let at = block.address; at < end; ) {
    const index = Math.floor((at - start) / PAGE_BYTES);
    const next = Math.min(end, start + (index + 1) * PAGE_BYTES);
    const page = (pages[index] ??= { bytes: 0, site: block.site, blocks: [] });
    page.bytes += next - at;
    if (page.site !== block.site) page.site = -1;
    page.blocks.push(block);
    at = next;
  }
}

export function heapsOf(heaps: readonly Row[], blocks: readonly Row[]): Heap[] {
  const made = new Map<number, { row: Row; start: number; pages: Array<Page | undefined> }>();
  for (const row of heaps) made.set(Number(row.heap_id), { row, start: Math.floor(Number(row.start_address) / PAGE_BYTES) * PAGE_BYTES, pages: [] });
  for (const row of blocks) {
    const heap = made.get(Number(row.heap_id));
    if (heap && Number(row.address) >= heap.start) addBlock(heap.pages, heap.start, { id: Number(row.id), address: Number(row.address), bytes: Number(row.bytes), site: Number(row.site ?? 0) });
  }
  return [...made.values()].map(({ row, start, pages }) => {
    const topmost = pages.length - 1;
    const extent = row.end_then === null || row.end_then === undefined ? 0 : Math.ceil((Number(row.end_then) - start) / PAGE_BYTES);
    if (extent > pages.length) pages.length = extent;
    return { id: Number(row.heap_id), kind: String(row.kind), start, pages, topmost };
  }).filter((heap) => heap.pages.length > 0);
}

// A page that is kept by the blocks of one call site, and is mostly empty.
export function isPinned(page: Page): boolean {
  return page.site >= 0 && page.bytes < PAGE_BYTES / 2;
}
