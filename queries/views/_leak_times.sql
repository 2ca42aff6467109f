-- SPDX-License-Identifier: MIT
-- _leak_times: one row per leaking stack and part of the analysis range in which it allocated leaked blocks.
CREATE VIEW _leak_times(
  process_id,        -- joins processes
  backtrace_id,      -- joins backtraces
  call_site_id,      -- joins call_sites
  rule_id,           -- joins suppressions; NULL: not suppressed
  part,              -- 0 to 63
  blocks,            -- leaked blocks that were allocated in this part
  bytes              -- their requested bytes; a block of 0 bytes counts as 1
) AS
SELECT d.process_id, d.backtrace_id, l.call_site_id, l.rule_id, d.part, d.blocks, max(d.bytes, d.blocks)
FROM _leaked_stacks AS l
JOIN leaked_allocations AS d ON d.process_id = l.process_id AND d.backtrace_id = l.backtrace_id;
