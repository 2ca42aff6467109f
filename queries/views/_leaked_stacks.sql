-- SPDX-License-Identifier: MIT
-- _leaked_stacks: one row per stack that leaked, with the rule that suppresses it.
--
-- Blocks that were lost with the process image at an exec are not leaks.
CREATE VIEW _leaked_stacks(
  process_id,        -- joins processes
  backtrace_id,      -- joins backtraces
  call_site_id,      -- joins call_sites
  leaked_blocks,     -- blocks that were never freed
  leaked_bytes,      -- their requested bytes
  leaked_first_ns,   -- allocation time of the first of them
  leaked_last_ns,    -- allocation time of the last of them
  allocated_blocks,  -- all blocks of the stack
  rule_id,           -- joins suppressions; NULL: not suppressed
  leaked_blocks_margin, -- half of the width of the 95 % interval of leaked_blocks; NULL: it is exact
  leaked_bytes_margin -- the same of leaked_bytes
) AS
SELECT t.process_id, t.backtrace_id, b.call_site_id, t.leaked_blocks, t.leaked_bytes, t.leaked_first_ns,
  t.leaked_last_ns, t.allocated_blocks, s.rule_id, t.leaked_blocks_margin, t.leaked_bytes_margin
FROM backtrace_totals AS t
JOIN processes AS p ON p.process_id = t.process_id
JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
LEFT JOIN suppressed_stacks AS s ON s.process_id = t.process_id AND s.backtrace_id = t.backtrace_id
WHERE t.leaked_blocks > 0 AND p.end_kind IS NOT 'exec';
