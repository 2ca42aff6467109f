-- SPDX-License-Identifier: MIT
-- _site_leaks: one row per leaking call site and rule that suppresses some of its stacks, of which site_leaks is made.
CREATE VIEW _site_leaks(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: the stacks that no rule names
  stacks,            -- distinct stacks that leak
  leaked_blocks,     -- blocks that were never freed
  leaked_bytes,      -- their requested bytes
  leaked_first_ns,   -- birth of the first of them
  leaked_last_ns     -- birth of the last of them
) AS
SELECT process_id, call_site_id, rule_id, count(*), sum(leaked_blocks), sum(leaked_bytes), min(leaked_first_ns),
  max(leaked_last_ns)
FROM _leaked_stacks
GROUP BY process_id, call_site_id, rule_id;
