-- SPDX-License-Identifier: MIT
-- by_pool: one row per allocator inside the program (mtrace_pool_create): what it took from malloc and gave out; empty without pools.
--
-- A pool took the blocks of malloc in which it ever gave out a block, also after a realloc of these. The blocks of a pool lie
-- inside blocks of malloc, so do not add the two.
CREATE VIEW by_pool(
  process_id,             -- joins processes
  allocated_bytes,        -- requested bytes of the blocks it gave out
  allocated_blocks,       -- blocks that it gave out
  live_bytes,             -- requested bytes of the blocks it gave out that were never freed
  live_blocks,            -- blocks it gave out that were never freed
  peak_bytes,             -- highest sum of its live bytes
  peak_ns,                -- first time of that sum; NULL: no block was ever live
  taken_blocks,           -- blocks of malloc that contained its blocks; NULL (also the next three): recorded with --sample-bytes, or queried with a filter, which applies only to blocks that the pool gave out
  taken_bytes,            -- their requested bytes
  held_bytes,             -- of taken_bytes, those in blocks that were never freed
  spare_bytes,            -- of held_bytes, those outside of live blocks of this pool: free memory, its own headers, blocks of other pools
  pool_id,                -- joins pools, pool_blocks
  name                    -- chosen by the program
) AS
SELECT process_id, allocated_bytes, allocated_blocks, live_bytes, live_blocks, peak_bytes, peak_ns, taken_blocks, taken_bytes, held_bytes, spare_bytes,
       pool_id, name
FROM pools
ORDER BY live_bytes DESC, peak_bytes DESC, allocated_bytes DESC, pool_id;
