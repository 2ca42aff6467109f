-- SPDX-License-Identifier: MIT
-- _site_leak_times: one row per call site with leaks, suppression rule and part of the analysis range. It fills site_leak_times.
CREATE VIEW _site_leak_times(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: stacks that match no rule
  part,              -- 0 to 63
  blocks,            -- leaked blocks that were allocated in this part
  bytes              -- their requested bytes, as in _leak_times
) AS
SELECT process_id, call_site_id, rule_id, part, sum(blocks), sum(bytes)
FROM _leak_times GROUP BY process_id, call_site_id, rule_id, part;
