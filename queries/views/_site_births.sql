-- SPDX-License-Identifier: MIT
-- _site_births: one row per call site with leaks, suppression rule and part of the analysis range. It fills site_births.
CREATE VIEW _site_births(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: stacks that match no rule
  part,              -- 0 to 63
  blocks,            -- leaked blocks that were allocated in this part
  bytes              -- their requested bytes, as in _leak_births
) AS
SELECT process_id, call_site_id, rule_id, part, sum(blocks), sum(bytes)
FROM _leak_births GROUP BY process_id, call_site_id, rule_id, part;
