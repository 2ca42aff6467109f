-- SPDX-License-Identifier: MIT
-- by_tag: one row per tag of groups, for all groups that have it: what a tenant or a component was charged.
CREATE VIEW by_tag(
  process_id,             -- joins processes
  key,                    -- as the program chose
  value,                  -- as the program chose
  groups,                 -- that have it and were charged anything
  allocated_bytes,        -- requested by their blocks, elided ones included
  allocated_blocks,       -- born while their thread was in one of them
  leaked_bytes,           -- requested by those that were never freed
  leaked_blocks,          -- that were never freed
  peak_bytes,             -- highest sum of live bytes over all of them
  peak_ns,                -- when that was; NULL: never any
  freed_bytes,            -- requested by those that ended
  freed_blocks,           -- that ended
  freed_elsewhere_bytes,  -- of freed_bytes, by a thread that was in another group than the block's
  freed_elsewhere_blocks, -- the same in blocks
  moved_in_bytes,         -- given to one of them by mtrace_move
  moved_out_bytes,        -- taken from one of them by mtrace_move
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
