-- SPDX-License-Identifier: MIT
-- by_group: one row per group that the program charged memory to; empty where it has none.
--
-- Rows come by what leaked, then by the peak: a group may hold what it did not allocate (mtrace_move).
-- The root, 1, is what was charged to nobody because no scope was open; 0 is what was to be charged to nobody.
CREATE VIEW by_group(
  process_id,             -- joins processes
  allocated_bytes,        -- requested by its blocks, elided ones included
  allocated_blocks,       -- born while their thread was in it
  leaked_bytes,           -- requested by those charged to it that were never freed
  leaked_blocks,          -- that were never freed
  peak_bytes,             -- highest sum of live bytes charged to it
  peak_ns,                -- when that was; NULL: never any
  freed_bytes,            -- requested by those that ended while charged to it
  freed_blocks,           -- that ended
  freed_elsewhere_bytes,  -- of freed_bytes, by a thread that was in another group; group_flows says in which
  freed_elsewhere_blocks, -- the same in blocks
  moved_in_bytes,         -- given to it by mtrace_move
  moved_out_bytes,        -- taken from it by mtrace_move
  group_id,               -- joins allocation_groups, allocations.group_id
  name,                   -- as the program chose
  tags,                   -- 'key=value, key=value'; NULL: none
  allocated_bytes_margin, -- half of the width of the 95 % interval of allocated_bytes; NULL: it is exact
  leaked_bytes_margin,    -- the same of leaked_bytes
  peak_bytes_margin       -- the same of peak_bytes
) AS
SELECT t.process_id, t.allocated_bytes, t.allocated_blocks, t.leaked_bytes, t.leaked_blocks, t.peak_bytes, t.peak_ns,
       t.freed_bytes, t.freed_blocks, t.freed_elsewhere_bytes, t.freed_elsewhere_blocks, t.moved_in_bytes, t.moved_out_bytes,
       t.group_id, g.name,
       (SELECT group_concat(a.key || '=' || a.value, ', ') FROM allocation_group_tags AS a WHERE a.group_id = t.group_id),
       t.allocated_bytes_margin, t.leaked_bytes_margin, t.peak_bytes_margin
FROM group_totals AS t
LEFT JOIN allocation_groups AS g ON g.group_id = t.group_id
ORDER BY t.leaked_bytes DESC, t.peak_bytes DESC, t.allocated_bytes DESC, t.process_id, t.group_id;
