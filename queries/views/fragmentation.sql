-- SPDX-License-Identifier: MIT
-- fragmentation: one row per heap at the process's peak and at its end: the parts of its memory.
--
-- extent = live + slack + overhead + holes + free pages + top. All parts but live are fragmentation. free() returns only the top to
-- the system. malloc_trim also returns the free pages. Holes become free pages when their neighbours are freed (see pinning).
-- If the heap may contain blocks without a row (heaps.unseen_blocks), free memory is not known: the columns from overhead_bytes on are NULL.
-- glibc returns the free top of an arena to the system without making the arena smaller: an arena counts as far as it ever reached,
-- resident or not. memory_samples.heap_resident_bytes has what was resident of all heaps.
-- Blocks with a mapping of their own are in no heap. The fill degree of a page is the usable bytes of its live blocks divided by the page size.
CREATE VIEW fragmentation(
  process_id,        -- joins processes
  at,                -- 'peak' or 'end'; with --at the requested time
  at_ns,             -- time of the snapshot
  heap_id,           -- joins heaps
  kind,              -- 'brk', 'arena', the allocator of most blocks ('jemalloc'), or 'other'
  extent_bytes,      -- from the start of the heap to its end; for an arena, as far as it ever reached
  live_bytes,        -- requested bytes of live blocks
  slack_bytes,       -- usable minus requested bytes of live blocks
  overhead_bytes,    -- headers and the allocator's own structures
  hole_bytes,        -- free bytes in pages that hold a live byte
  free_page_bytes,   -- wholly free pages below the topmost live block
  top_bytes,         -- wholly free pages above the topmost live block; those of an arena may have been returned already
  unused_share,      -- share of extent_bytes that is not live, 0 to 1
  pages_to_25,       -- pages filled to less than 25 %
  pages_to_50,       -- pages filled to at least 25 % and less than 50 %
  pages_to_75,       -- pages filled to at least 50 % and less than 75 %
  pages_to_100,      -- pages filled to 75 % or more
  topmost_allocation_id, -- live block at the highest address, which prevents trimming
  topmost_backtrace_id,  -- stack that allocated that block
  function,          -- function of the topmost block's call site; NULL: unknown
  source,            -- its source file
  line,              -- line in source
  module,            -- file that holds the code
  call_site_id       -- joins call_sites
) AS
SELECT n.process_id, n.reason, n.at_ns, h.heap_id,
  iif(h.kind = 'other', coalesce(nullif(p.allocator, 'glibc'), h.kind), h.kind), t.extent_bytes, t.live_bytes, t.slack_bytes, t.overhead_bytes,
  t.hole_bytes, t.free_page_bytes, t.top_bytes,
  iif(t.top_bytes IS NULL, NULL, 1.0 * (t.extent_bytes - t.live_bytes) / nullif(t.extent_bytes, 0)),
  t.pages_to_25, t.pages_to_50, t.pages_to_75, t.pages_to_100,
  t.topmost_allocation_id, t.topmost_backtrace_id, s.function, s.source, s.line, s.module, b.call_site_id
FROM heap_states AS t
JOIN snapshots AS n ON n.snapshot_id = t.snapshot_id
JOIN processes AS p ON p.process_id = n.process_id
JOIN heaps AS h ON h.heap_id = t.heap_id
LEFT JOIN backtraces AS b ON b.backtrace_id = t.topmost_backtrace_id
LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id
WHERE n.reason <> 'regular'
ORDER BY n.process_id, n.at_ns, n.snapshot_id, t.extent_bytes DESC, h.heap_id;
