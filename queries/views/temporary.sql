-- SPDX-License-Identifier: MIT
-- temporary: one row per call site whose blocks were freed at once.
--
-- A temporary block was freed by free() in the thread that allocated it, before that thread made more than one other
-- allocation. Blocks that realloc ended are never temporary.
CREATE VIEW temporary(
  process_id,        -- joins processes
  temporary_blocks,  -- blocks freed at once
  temporary_bytes,   -- their requested bytes
  share,             -- temporary_blocks as a share of allocated_blocks, 0 to 1
  allocated_blocks,  -- all blocks of the call site
  culled_blocks,     -- of these, logged only as counts while recording
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
WITH
  site_totals AS (
    SELECT t.process_id, b.call_site_id, sum(t.temporary_blocks) AS temporary_blocks,
      sum(t.temporary_bytes) AS temporary_bytes, sum(t.allocated_blocks) AS allocated_blocks,
      sum(t.culled_blocks) AS culled_blocks
    FROM backtrace_totals AS t JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
    GROUP BY t.process_id, b.call_site_id)
SELECT t.process_id, t.temporary_blocks, t.temporary_bytes, 1.0 * t.temporary_blocks / t.allocated_blocks,
  t.allocated_blocks, t.culled_blocks, s.function, s.source, s.line, s.module, t.call_site_id
FROM site_totals AS t
LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id
WHERE t.temporary_blocks > 0 OR t.culled_blocks > 0
ORDER BY t.temporary_blocks DESC, t.temporary_bytes DESC, t.process_id, t.call_site_id;
