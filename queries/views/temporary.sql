-- SPDX-License-Identifier: MIT
-- temporary: one row per call site whose blocks were freed right after their allocation.
--
-- A temporary block was freed by free() in the thread that allocated it, before that thread made more than one other
-- allocation. A block that realloc ended is never temporary.
CREATE VIEW temporary(
  process_id,        -- joins processes
  temporary_blocks,  -- blocks freed right after their allocation
  temporary_bytes,   -- their requested bytes
  share,             -- temporary_blocks as a share of allocated_blocks, 0 to 1
  allocated_blocks,  -- all blocks of the call site
  elided_blocks,     -- of these, elided: logged only as counts
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
SELECT t.process_id, t.temporary_blocks, t.temporary_bytes, 1.0 * t.temporary_blocks / t.allocated_blocks,
  t.allocated_blocks, t.elided_blocks, s.function, s.source, s.line, s.module, t.call_site_id
FROM site_totals AS t
LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id
WHERE t.temporary_blocks > 0
ORDER BY t.temporary_blocks DESC, t.temporary_bytes DESC, t.process_id, t.call_site_id;
