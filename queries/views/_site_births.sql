-- SPDX-License-Identifier: MIT
-- _site_births: one row per call site with leaks, rule that suppresses some of its stacks, and part of the time that is judged, of which
-- site_births is made.
CREATE VIEW _site_births(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: the stacks that no rule names
  part,              -- 0 to 63
  blocks,            -- leaked ones that were born in it
  bytes              -- requested by them, as in _leak_births
) AS
SELECT process_id, call_site_id, rule_id, part, sum(blocks), sum(bytes)
FROM _leak_births GROUP BY process_id, call_site_id, rule_id, part;
