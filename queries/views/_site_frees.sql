-- SPDX-License-Identifier: MIT
-- _site_frees: one row per call site some of whose blocks were freed: the call site that freed most of them.
--
-- site_frees is made of it. A log of --aggregate does not tell all stacks apart that free (free_sites): call sites of whose blocks more were freed on the
-- others than at any call site have no row.
CREATE VIEW _site_frees(
  process_id,        -- joins processes
  call_site_id,      -- where the blocks were born
  free_call_site_id, -- where most of them were freed
  blocks             -- how many of them there
) AS
WITH
  pairs(process_id, call_site_id, free_call_site_id, blocks) AS (
    SELECT f.process_id, b.call_site_id, CASE WHEN f.free_backtrace_id = 0 THEN 0 ELSE e.call_site_id END, sum(f.blocks)
    FROM free_sites AS f
    JOIN backtraces AS b ON b.backtrace_id = f.backtrace_id
    LEFT JOIN backtraces AS e ON e.backtrace_id = f.free_backtrace_id
    WHERE e.call_site_id IS NOT NULL OR f.free_backtrace_id = 0
    GROUP BY 1, 2, 3),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY process_id, call_site_id
                                 ORDER BY blocks DESC, free_call_site_id = 0, free_call_site_id) AS place
    FROM pairs)
SELECT process_id, call_site_id, free_call_site_id, blocks FROM ranked
WHERE place = 1 AND free_call_site_id <> 0;
