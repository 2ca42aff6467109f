-- SPDX-License-Identifier: MIT
-- _site_frees: one row per call site some of whose blocks were freed: the call site that freed most of them.
--
-- site_frees is made of it.
CREATE VIEW _site_frees(
  process_id,        -- joins processes
  call_site_id,      -- where the blocks were born
  free_call_site_id, -- where most of them were freed
  blocks             -- how many of them there
) AS
WITH
  pairs(process_id, call_site_id, free_call_site_id, blocks) AS (
    SELECT f.process_id, b.call_site_id, e.call_site_id, sum(f.blocks)
    FROM free_sites AS f
    JOIN backtraces AS b ON b.backtrace_id = f.backtrace_id
    JOIN backtraces AS e ON e.backtrace_id = f.free_backtrace_id
    WHERE e.call_site_id IS NOT NULL
    GROUP BY 1, 2, 3),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY process_id, call_site_id
                                 ORDER BY blocks DESC, free_call_site_id) AS place
    FROM pairs)
SELECT process_id, call_site_id, free_call_site_id, blocks FROM ranked WHERE place = 1;
