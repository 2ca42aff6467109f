-- SPDX-License-Identifier: MIT
-- _site_frees: one row per call site and kind of stacks, those that leak and the others: the call site that freed most blocks of them.
--
-- This view fills site_frees. A log of --aggregate does not distinguish all stacks that free blocks (free_sites). A call site has
-- no row if more of these blocks were freed on the other stacks than at any one call site.
CREATE VIEW _site_frees(
  process_id,        -- joins processes
  call_site_id,      -- call site that allocated the blocks
  is_leaking,        -- 1: blocks of stacks that leak; 0: of stacks that free all of theirs
  free_call_site_id, -- call site that freed most of them
  blocks             -- number of blocks that it freed
) AS
WITH
  pairs(process_id, call_site_id, is_leaking, free_call_site_id, blocks) AS (
    SELECT f.process_id, b.call_site_id, coalesce(t.leaked_blocks > 0, 0), CASE WHEN f.free_backtrace_id = 0 THEN 0 ELSE e.call_site_id END, sum(f.blocks)
    FROM free_sites AS f
    JOIN backtraces AS b ON b.backtrace_id = f.backtrace_id
    LEFT JOIN backtrace_totals AS t ON t.process_id = f.process_id AND t.backtrace_id = f.backtrace_id
    LEFT JOIN backtraces AS e ON e.backtrace_id = f.free_backtrace_id
    WHERE e.call_site_id IS NOT NULL OR f.free_backtrace_id = 0
    GROUP BY 1, 2, 3, 4),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY process_id, call_site_id, is_leaking
                                 ORDER BY blocks DESC, free_call_site_id = 0, free_call_site_id) AS place
    FROM pairs)
SELECT process_id, call_site_id, is_leaking, free_call_site_id, blocks FROM ranked
WHERE place = 1 AND free_call_site_id <> 0;
