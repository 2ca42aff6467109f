-- SPDX-License-Identifier: MIT
-- by_group: one row per group to which the program charged memory; empty if it has no groups.
--
-- Rows are sorted by leaked bytes, then by the peak: a group may hold memory that it did not allocate (mtrace_move).
-- Group 1 is the root: memory that was allocated while no scope was open. Group 0 is untracked memory, excluded from all groups
-- by the program.
CREATE VIEW by_group(
  process_id,             -- joins processes
  allocated_bytes,        -- requested bytes of its blocks, elided blocks included
  allocated_blocks,       -- allocated while their thread was in it
  leaked_bytes,           -- requested bytes of blocks charged to it that were never freed
  leaked_blocks,          -- blocks charged to it that were never freed
  peak_bytes,             -- highest sum of live bytes charged to it
  peak_ns,                -- first time of that sum; NULL: no block was ever live
  freed_bytes,            -- requested bytes of blocks that were freed while charged to it
  freed_blocks,           -- blocks that were freed while charged to it
  freed_elsewhere_bytes,  -- of freed_bytes, freed by a thread that was in another group; group_flows has that group
  freed_elsewhere_blocks, -- the same in blocks
  moved_in_bytes,         -- moved to it by mtrace_move
  moved_out_bytes,        -- moved from it by mtrace_move
  group_id,               -- joins allocation_groups, allocations.group_id
  name,                   -- chosen by the program
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
