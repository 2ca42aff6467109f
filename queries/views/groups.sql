-- SPDX-License-Identifier: MIT
-- groups: one row per stack: everything that was allocated with the same backtrace.
CREATE VIEW groups(
  process_id,        -- joins processes
  backtrace_id,      -- joins backtraces; `mtrace-query stack ID` prints it
  allocated_blocks,  -- blocks allocated with this stack
  allocated_bytes,   -- their requested bytes
  freed_blocks,      -- of these, freed by free or realloc
  freed_bytes,       -- their requested bytes
  leaked_blocks,     -- of these, never freed
  leaked_bytes,      -- their requested bytes
  min_size_bytes,    -- requested size of the smallest block
  max_size_bytes,    -- requested size of the largest block
  first_ns,          -- when the first block was allocated
  last_ns,           -- when the last block was allocated
  interval_ns,       -- last_ns - first_ns
  own_peak_bytes,    -- highest sum of this stack's own live bytes
  own_peak_ns,       -- first time of that sum
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
WITH named AS MATERIALIZED (SELECT call_site_id, function, source, line, module FROM _sites)
SELECT t.process_id, t.backtrace_id, t.allocated_blocks, t.allocated_bytes, t.freed_blocks, t.freed_bytes,
  t.leaked_blocks, t.leaked_bytes, t.min_size_bytes, t.max_size_bytes, t.first_ns, t.last_ns, t.last_ns - t.first_ns,
  t.own_peak_bytes, t.own_peak_ns, s.function, s.source, s.line, s.module, b.call_site_id
FROM backtrace_totals AS t
JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
LEFT JOIN named AS s ON s.call_site_id = b.call_site_id
ORDER BY t.allocated_bytes DESC, t.allocated_blocks DESC, t.process_id, t.backtrace_id;
