-- SPDX-License-Identifier: MIT
-- by_tag: one row per tag of groups: the memory that was charged to all groups with this tag, such as a tenant or a component.
CREATE VIEW by_tag(
  process_id,             -- joins processes
  key,                    -- chosen by the program
  value,                  -- chosen by the program
  groups,                 -- number of groups with this tag that were charged memory
  allocated_bytes,        -- requested bytes of their blocks, elided blocks included
  allocated_blocks,       -- allocated while their thread was in one of them
  leaked_bytes,           -- requested bytes of blocks that were never freed
  leaked_blocks,          -- blocks that were never freed
  peak_bytes,             -- highest sum of live bytes over all of them
  peak_ns,                -- first time of that sum; NULL: no block was ever live
  freed_bytes,            -- requested bytes of blocks that were freed
  freed_blocks,           -- blocks that were freed
  freed_elsewhere_bytes,  -- of freed_bytes, freed by a thread that was in another group than the block's
  freed_elsewhere_blocks, -- the same in blocks
  moved_in_bytes,         -- moved to one of them by mtrace_move
  moved_out_bytes,        -- moved from one of them by mtrace_move
  allocated_bytes_margin, -- half of the width of the 95 % interval of allocated_bytes; NULL: it is exact
  leaked_bytes_margin,    -- the same of leaked_bytes
  peak_bytes_margin       -- the same of peak_bytes
) AS
SELECT t.process_id, t.key, t.value,
       coalesce(c.n, 0),
       t.allocated_bytes, t.allocated_blocks, t.leaked_bytes, t.leaked_blocks, t.peak_bytes, t.peak_ns, t.freed_bytes,
       t.freed_blocks, t.freed_elsewhere_bytes, t.freed_elsewhere_blocks, t.moved_in_bytes, t.moved_out_bytes,
       t.allocated_bytes_margin, t.leaked_bytes_margin, t.peak_bytes_margin
FROM tag_totals AS t
LEFT JOIN (SELECT g.process_id, a.key, a.value, count(*) AS n
           FROM allocation_group_tags AS a JOIN group_totals AS g ON g.group_id = a.group_id
           GROUP BY g.process_id, a.key, a.value) AS c ON c.process_id = t.process_id AND c.key = t.key AND c.value = t.value
ORDER BY t.key, t.leaked_bytes DESC, t.peak_bytes DESC, t.allocated_bytes DESC, t.value, t.process_id;
