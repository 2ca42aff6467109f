-- SPDX-License-Identifier: MIT
-- range: one row per call site with blocks that were allocated in a time range and freed outside of it, or the reverse.
--
-- `mtrace-query range --from TIME --to TIME` fills it; both ends belong to the range. Blocks that were allocated and freed
-- in the range are not counted, nor are blocks allocated before it and freed after it.
CREATE VIEW range(
  process_id,              -- joins processes
  freed_after_bytes,       -- requested bytes allocated in the range and freed after it
  freed_after_blocks,      -- number of these blocks
  never_freed_bytes,       -- requested bytes allocated in the range and never freed, or lost at an exec
  never_freed_blocks,      -- number of these blocks
  allocated_before_bytes,  -- requested bytes allocated before the range and freed in it
  allocated_before_blocks, -- number of these blocks
  change_bytes,            -- live bytes at the end of the range minus those before it
  change_blocks,           -- the same in blocks
  function,                -- function of the call site that allocated; NULL: unknown
  source,                  -- its source file; NULL: no debug information
  line,                    -- line in source
  module,                  -- file that holds the code; NULL: code outside any file
  call_site_id             -- joins call_sites; NULL: the stack has no call site
) AS
WITH
  by_site AS (
    SELECT r.process_id, b.call_site_id,
      sum(iif(r.outcome = 'freed_after', r.bytes, 0)) AS after_bytes, sum(iif(r.outcome = 'freed_after', r.blocks, 0)) AS after_blocks,
      sum(iif(r.outcome = 'never_freed', r.bytes, 0)) AS never_bytes, sum(iif(r.outcome = 'never_freed', r.blocks, 0)) AS never_blocks,
      sum(iif(r.outcome = 'allocated_before', r.bytes, 0)) AS before_bytes, sum(iif(r.outcome = 'allocated_before', r.blocks, 0)) AS before_blocks
    FROM range_totals AS r JOIN backtraces AS b ON b.backtrace_id = r.backtrace_id
    GROUP BY r.process_id, b.call_site_id)
SELECT t.process_id, t.after_bytes, t.after_blocks, t.never_bytes, t.never_blocks, t.before_bytes, t.before_blocks,
  t.after_bytes + t.never_bytes - t.before_bytes, t.after_blocks + t.never_blocks - t.before_blocks,
  s.function, s.source, s.line, s.module, t.call_site_id
FROM by_site AS t
LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id
ORDER BY t.after_bytes + t.never_bytes + t.before_bytes DESC, t.after_blocks + t.never_blocks + t.before_blocks DESC, t.process_id, t.call_site_id;
