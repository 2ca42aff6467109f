-- SPDX-License-Identifier: MIT
-- by_pool: one row per allocator of the program's own (mtrace_pool_create): what it gave out of what it took from malloc; empty without any.
--
-- What it took are the blocks of malloc in which it ever gave out a block, or what realloc made of them. Its blocks lie inside of those: the
-- two are never to be added.
CREATE VIEW by_pool(
  process_id,             -- joins processes
  allocated_bytes,        -- requested for the blocks it gave out
  allocated_blocks,       -- that it gave out
  live_bytes,             -- of blocks it gave out that were never ended
  live_blocks,            -- that were never ended
  peak_bytes,             -- highest sum of live bytes it had given out
  peak_ns,                -- when that was; NULL: never any
  taken_blocks,           -- of malloc, in which its blocks lay; NULL, as the next three: recorded with --sample-bytes, or asked with a filter, which divides what was given out only
  taken_bytes,            -- requested for those
  held_bytes,             -- of taken_bytes, in blocks that were never freed
  spare_bytes,            -- of held_bytes, not in live blocks of this pool: free, its own headers, other pools' blocks
  pool_id,                -- joins pools, pool_blocks
  name                    -- as the program chose
) AS
SELECT process_id, allocated_bytes, allocated_blocks, live_bytes, live_blocks, peak_bytes, peak_ns, taken_blocks, taken_bytes, held_bytes, spare_bytes,
       pool_id, name
FROM pools
ORDER BY live_bytes DESC, peak_bytes DESC, allocated_bytes DESC, pool_id;
