-- SPDX-License-Identifier: MIT
-- pinning: one row per call site that alone prevents heap pages from being returned, at the peak and at the end.
--
-- A page is pinned if all its live blocks come from one call site: without them malloc_trim could return the page.
-- A page with blocks of several call sites is not pinned: it becomes free only when all of these free their blocks. Nor is a page
-- on which blocks without a row may lie (heaps.unseen_blocks).
CREATE VIEW pinning(
  process_id,        -- joins processes
  at,                -- 'peak' or 'end'; with --at the requested time
  at_ns,             -- time of the snapshot
  pinned_pages,      -- pages whose live blocks all come from this call site
  would_free_bytes,  -- their size: malloc_trim could return it if the blocks were freed
  usable_bytes,      -- usable bytes of the live blocks in them
  example_allocation_id, -- one block that pins a page, in the emptiest page
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
WITH
  -- The frames that all stacks of a page share contain the call site if a stack without them has another call site.
  owned AS (
    SELECT g.*, b.call_site_id
    FROM heap_pins AS g JOIN backtraces AS b ON b.backtrace_id = g.backtrace_id
    WHERE g.common_frames = 0 OR EXISTS (
      WITH RECURSIVE up(backtrace_id, frames) AS (
        SELECT b.parent_backtrace_id, 1
        UNION ALL
        SELECT (SELECT u.parent_backtrace_id FROM backtraces AS u WHERE u.backtrace_id = up.backtrace_id AND u.parent_backtrace_id < u.backtrace_id),
          frames + 1
        FROM up WHERE frames < g.common_frames AND up.backtrace_id IS NOT NULL)
      SELECT 1 FROM up LEFT JOIN backtraces AS a ON a.backtrace_id = up.backtrace_id
      WHERE a.call_site_id IS NOT b.call_site_id)),
  stacks AS (
    SELECT g.*, row_number() OVER (
        PARTITION BY g.snapshot_id, g.call_site_id ORDER BY g.emptiest_usable_bytes, g.example_allocation_id) AS place
    FROM owned AS g),
  pinned AS (
    SELECT snapshot_id, call_site_id, sum(pages) AS pages, sum(usable_bytes) AS usable_bytes,
      max(example_allocation_id) FILTER (WHERE place = 1) AS example_allocation_id
    FROM stacks GROUP BY snapshot_id, call_site_id)
SELECT n.process_id, n.reason, n.at_ns, g.pages, g.pages * z.page_bytes, g.usable_bytes, g.example_allocation_id,
  s.function, s.source, s.line, s.module, g.call_site_id
FROM pinned AS g
CROSS JOIN _page_size AS z
JOIN snapshots AS n ON n.snapshot_id = g.snapshot_id
LEFT JOIN _sites AS s ON s.call_site_id = g.call_site_id
WHERE n.reason <> 'regular'
ORDER BY n.process_id, n.at_ns DESC, n.snapshot_id DESC, g.pages DESC, g.usable_bytes, g.call_site_id;
