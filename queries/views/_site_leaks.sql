-- SPDX-License-Identifier: MIT
-- _site_leaks: one row per leaking call site and rule that suppresses some of its stacks. It fills site_leaks.
CREATE VIEW _site_leaks(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: stacks that match no rule
  stacks,            -- distinct stacks that leak
  allocated_blocks,  -- all blocks of these stacks
  leaked_blocks,     -- blocks that were never freed
  leaked_bytes,      -- their requested bytes
  leaked_first_ns,   -- allocation time of the first of them
  leaked_last_ns,    -- allocation time of the last of them
  pattern,           -- how they came over time: see _site_shapes; two blocks are too few for a shape
  leaked_blocks_margin, -- half of the width of the 95 % interval of leaked_blocks; NULL: it is exact
  leaked_bytes_margin -- the same of leaked_bytes
) AS
WITH
  totals AS (
    SELECT process_id, call_site_id, rule_id, count(*) AS stacks, sum(allocated_blocks) AS allocated,
      sum(leaked_blocks) AS blocks, sum(leaked_bytes) AS bytes, min(leaked_first_ns) AS first_ns, max(leaked_last_ns) AS last_ns,
      sqrt(sum(leaked_blocks_margin * leaked_blocks_margin)) AS blocks_margin,
      sqrt(sum(leaked_bytes_margin * leaked_bytes_margin)) AS bytes_margin
    FROM _leaked_stacks GROUP BY process_id, call_site_id, rule_id),
  -- SQLite makes an index for =, not for IS.
  shapes AS MATERIALIZED (
    SELECT process_id, coalesce(call_site_id, -1) AS site, coalesce(rule_id, -1) AS rule, pattern
    FROM site_shapes WHERE curve = 'leaks')
SELECT t.process_id, t.call_site_id, t.rule_id, t.stacks, t.allocated, t.blocks, t.bytes, t.first_ns, t.last_ns,
  CASE WHEN t.blocks = 1 THEN 'once' WHEN s.process_id IS NULL THEN 'burst' ELSE s.pattern END, t.blocks_margin, t.bytes_margin
FROM totals AS t
LEFT JOIN shapes AS s ON s.process_id = t.process_id AND s.site = coalesce(t.call_site_id, -1)
  AND s.rule = coalesce(t.rule_id, -1);
