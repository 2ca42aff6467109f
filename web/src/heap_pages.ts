// SPDX-License-Identifier: MIT
// heap_pages: live blocks as pages of their heaps. No drawing.

import type { Row } from "./api";

export const PAGE_BYTES = 4096;

export interface Page {
  readonly bytes: number; // of live blocks
  readonly blocks: number; // live blocks with a byte on it
  readonly site: number; // call site of all its blocks; -1: several
  readonly sites: readonly number[]; // call sites of one or two of its blocks; empty: not known
  readonly example: number | null; // the id of a block; null: it has no row
}

export interface Heap {
  readonly id: number;
  readonly kind: string;
  readonly start: number; // address of its first page
  readonly pages: ReadonlyArray<Page | undefined>; // up to the end of the heap at that time; undefined: free
  readonly topmost: number; // index of the last page with a live byte; -1: none
}

// Live blocks by page, so the size of the answer depends on the heaps, not on the number of blocks. A block that spans pages is a part of its first
// page, a part of its last page, and one row for all pages between them, which hold no other block.
// If a recording has no rows of blocks, the import has counted the pages of the peak and the end, with the owner of each page that has one stack.
export function pagesStatement(process: number, atNs: number): string {
  return `WITH kept AS (
  SELECT snapshot_id FROM snapshots WHERE process_id = ${process} AND at_ns = ${atNs} AND reason IN ('peak', 'end') AND EXISTS (SELECT 1 FROM meta WHERE key = 'slim' AND value = 1) LIMIT 1),
live AS (
  SELECT a.heap_id, a.address, a.address + max(1, coalesce(a.usable_bytes, a.size_bytes)) AS end_address, a.allocation_id AS id, coalesce(b.call_site_id, 0) AS site
  FROM allocations AS a JOIN backtraces AS b ON b.backtrace_id = a.backtrace_id
  WHERE a.alloc_ns <= ${atNs} AND ifnull(a.free_ns > ${atNs}, 1) AND a.heap_id IN (SELECT heap_id FROM heaps WHERE process_id = ${process}) AND NOT EXISTS (SELECT 1 FROM kept)),
spans AS (SELECT *, address / ${PAGE_BYTES} AS first, (end_address - 1) / ${PAGE_BYTES} AS last FROM live),
parts AS (
  SELECT heap_id, id, site, CASE part WHEN 0 THEN first WHEN 1 THEN last ELSE first + 1 END AS page, iif(part = 2, last - first - 1, 1) AS pages,
    CASE part WHEN 0 THEN min(end_address, (first + 1) * ${PAGE_BYTES}) - address WHEN 1 THEN end_address - last * ${PAGE_BYTES} ELSE (last - first - 1) * ${PAGE_BYTES} END AS bytes
  FROM spans CROSS JOIN (SELECT 0 AS part UNION ALL SELECT 1 UNION ALL SELECT 2) WHERE first + part <= last)
SELECT heap_id, page, max(pages) AS pages, sum(bytes) AS bytes, count(*) AS blocks, min(site) AS site, max(site) AS other_site, min(id) AS id
FROM parts GROUP BY heap_id, page
UNION ALL
SELECT p.heap_id, p.page_address / ${PAGE_BYTES}, p.page_count, p.usable_bytes, p.live_blocks, b.call_site_id, b.call_site_id, (SELECT allocation_id FROM allocations WHERE allocation_id = p.example_allocation_id)
FROM kept CROSS JOIN heap_pages AS p USING (snapshot_id) LEFT JOIN backtraces AS b ON b.backtrace_id = p.owner_backtrace_id`;
}

export function heapsOf(heaps: readonly Row[], used: readonly Row[]): Heap[] {
  const made = new Map<number, { row: Row; start: number; pages: Array<Page | undefined> }>();
  for (const row of heaps) made.set(Number(row.heap_id), { row, start: Math.floor(Number(row.start_address) / PAGE_BYTES) * PAGE_BYTES, pages: [] });
  for (const row of used) {
    const heap = made.get(Number(row.heap_id));
    const [index, n] = [Number(row.page) - (heap?.start ?? 0) / PAGE_BYTES, Number(row.pages)];
    const sites = row.site === null ? [] : [...new Set([Number(row.site), Number(row.other_site)])];
    const page: Page = { bytes: Number(row.bytes) / n, blocks: Number(row.blocks), site: sites.length === 1 ? Number(row.site) : -1, sites, example: row.id === null ? null : Number(row.id) };
    if (heap && index >= 0) for (let i = 0; i < n; i++) heap.pages[index + i] = page;
  }
  return [...made.values()].map(({ row, start, pages }) => {
    const topmost = pages.length - 1;
    const extent = row.end_then === null || row.end_then === undefined ? 0 : Math.ceil((Number(row.end_then) - start) / PAGE_BYTES);
    if (extent > pages.length) pages.length = extent;
    return { id: Number(row.heap_id), kind: String(row.kind), start, pages, topmost };
  }).filter((heap) => heap.pages.length > 0);
}

// True if the page is mostly empty, and only blocks of one call site keep it in use.
export function isPinned(page: Page): boolean {
  return page.site >= 0 && page.bytes < PAGE_BYTES / 2;
}
