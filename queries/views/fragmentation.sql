-- SPDX-License-Identifier: MIT
-- fragmentation: one row per heap at the process's peak and at its end: what its memory is spent on.
--
-- extent = live + slack + overhead + holes + free pages + top. All but live is fragmentation. free() gives only the top
-- back to the system, malloc_trim the free pages, too; holes come back when their neighbours are freed (see pinning).
-- Where blocks may lie that have no row (heaps.unseen_blocks), nobody knows what is free: NULL from overhead_bytes on.
-- Blocks with a mapping of their own are in no heap. A page's fill degree is the usable bytes of its live blocks by the page size.
CREATE VIEW fragmentation(
  process_id,        -- joins processes
  at,                -- 'peak' or 'end'; with --at what was asked for
  at_ns,             -- that instant
  heap_id,           -- joins heaps
  kind,              -- 'brk', 'arena' or 'other'
  extent_bytes,      -- from the start of the heap to its end
  live_bytes,        -- requested bytes of live blocks
  slack_bytes,       -- usable minus requested bytes of live blocks
  overhead_bytes,    -- headers and the allocator's own structures
  hole_bytes,        -- free bytes in pages that hold a live byte
  free_page_bytes,   -- wholly free pages below the topmost live block
  top_bytes,         -- above the topmost live block
  unused_share,      -- what is not live as a share of extent_bytes, 0 to 1
  pages_to_25,       -- pages filled to less than 25 %
  pages_to_50,       -- to 25 % or more and less than 50 %
  pages_to_75,       -- to 50 % or more and less than 75 %
  pages_to_100,      -- to 75 % or more
  topmost_allocation_id, -- the block that keeps the heap from shrinking
  topmost_backtrace_id,  -- its stack
  function,          -- function of the topmost block's call site; NULL: unknown
  source,            -- its source file
  line,              -- line in source
  module,            -- file that holds the code
  call_site_id       -- joins call_sites
) AS
SELECT n.process_id, n.reason, n.at_ns, h.heap_id, h.kind, t.extent_bytes, t.live_bytes, t.slack_bytes, t.overhead_bytes,
  t.hole_bytes, t.free_page_bytes, t.top_bytes,
  iif(t.top_bytes IS NULL, NULL, 1.0 * (t.extent_bytes - t.live_bytes) / nullif(t.extent_bytes, 0)),
  t.pages_to_25, t.pages_to_50, t.pages_to_75, t.pages_to_100,
  t.topmost_allocation_id, t.topmost_backtrace_id, s.function, s.source, s.line, s.module, b.call_site_id
FROM heap_states AS t
JOIN snapshots AS n ON n.snapshot_id = t.snapshot_id
JOIN heaps AS h ON h.heap_id = t.heap_id
LEFT JOIN backtraces AS b ON b.backtrace_id = t.topmost_backtrace_id
LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id
WHERE n.reason <> 'regular'
ORDER BY n.process_id, n.at_ns, n.snapshot_id, t.extent_bytes DESC, h.heap_id;
