-- SPDX-License-Identifier: MIT
-- _leak_births: one row per leaking stack and part of the time that is judged in which some of its leaked blocks were born.
CREATE VIEW _leak_births(
  process_id,        -- joins processes
  backtrace_id,      -- joins backtraces
  call_site_id,      -- joins call_sites
  rule_id,           -- joins suppressions; NULL: not suppressed
  part,              -- 0 to 63
  blocks,            -- of these
  bytes              -- requested by them; 1 for each that asked for none
) AS
SELECT d.process_id, d.backtrace_id, l.call_site_id, l.rule_id, d.part, d.blocks, max(d.bytes, d.blocks)
FROM _leaked_stacks AS l
JOIN leaked_allocations AS d ON d.process_id = l.process_id AND d.backtrace_id = l.backtrace_id;
