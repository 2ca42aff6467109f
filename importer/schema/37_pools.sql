-- Pools: allocators inside the program that divide blocks of malloc, and report this by mtrace_pool_*.

CREATE TABLE pools (            -- pools made by mtrace_pool_create, or by heaptrack's calls; empty if the program has none. No other total includes these numbers: the others are malloc's
  pool_id INTEGER PRIMARY KEY,          -- 1, 2, … in order of process and creation
  process_id INTEGER NOT NULL,          -- process of the pool; a fork child has its own rows for its parent's pools
  name TEXT NOT NULL,                   -- chosen by the program; 'heaptrack_api' for heaptrack's calls
  allocated_blocks INTEGER NOT NULL,    -- blocks that the pool gave out, as reported by the program
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  freed_blocks INTEGER NOT NULL,        -- freed one by one, or with the pool, or with the block of malloc that contained them
  freed_bytes INTEGER NOT NULL,         -- their requested bytes
  live_blocks INTEGER NOT NULL,         -- never freed
  live_bytes INTEGER NOT NULL,          -- their requested bytes
  peak_bytes INTEGER NOT NULL,          -- highest sum of its live bytes
  peak_ns INTEGER,                      -- first time when peak_bytes was reached; NULL: no block was ever live
  taken_blocks INTEGER,                 -- blocks of malloc that contained its blocks; a block counts once, even if realloc changes it; NULL (also the next three): recorded with --sample-bytes
  taken_bytes INTEGER,                  -- their requested bytes
  held_bytes INTEGER,                   -- of taken_bytes, those in blocks that were never freed
  spare_bytes INTEGER                   -- of held_bytes, those outside of live blocks of this pool
) STRICT;

CREATE TABLE pool_block_rows (  -- private: one block of a pool from allocation to free; read it through pool_blocks
  pool_block_id INTEGER PRIMARY KEY,    -- 1, 2, … in order of allocation
  pool_id INTEGER NOT NULL,             -- pool that gave it out
  allocation_id INTEGER,                -- block of malloc that contained it when it was allocated; NULL: none
  realloc_from_id INTEGER,              -- pool_block_id that mtrace_pool_resize replaced by this one; NULL: none
  thread_id INTEGER NOT NULL,           -- thread that allocated it
  address INTEGER NOT NULL,             -- address of its first byte
  size_bytes INTEGER NOT NULL,          -- requested
  alloc_ns INTEGER NOT NULL,            -- time of the allocation
  lifetime_ns INTEGER,                  -- NULL: never freed
  free_thread_id INTEGER,               -- thread that freed it; NULL: never freed, or not by a call
  backtrace_id INTEGER NOT NULL,        -- stack that allocated it
  free_backtrace_id INTEGER,            -- stack that freed it; NULL: not freed by a call
  ended_by INTEGER NOT NULL,            -- values as in allocation_rows
  group_id INTEGER NOT NULL,            -- group of its thread at the allocation
  free_group_id INTEGER                 -- group of the freeing thread; NULL: not freed by a call
) STRICT;

CREATE VIEW pool_blocks(        -- one row per block of a pool from allocation to free, inside a block of allocations; columns as there
  pool_block_id,           -- in the order of allocation
  pool_id,                 -- joins pools
  pool,                    -- name of the pool
  allocation_id,           -- block of malloc that contained it when it was allocated; joins allocations; NULL: none, for example in a mapping
  offset_bytes,            -- from the start of that block
  process_id,              -- process of the pool
  thread_id,               -- thread that allocated it
  address,                 -- address of its first byte
  size_bytes,              -- requested
  alloc_ns,                -- time of the allocation
  free_ns,                 -- time of the free; NULL: never freed
  lifetime_ns,             -- from allocation to free; NULL: never freed
  free_thread_id,          -- thread that freed it; NULL: never freed, or not by a call
  backtrace_id,            -- stack that allocated it; joins backtraces and stack_frames
  free_backtrace_id,       -- stack that freed it, the pool, or the block of malloc; NULL: not freed by a call
  ended_by,                -- 'free', 'realloc' (mtrace_pool_resize), 'unseen', 'exec'; NULL: still live at the end of the process
  is_leaked,               -- 1: not freed while the process lived
  realloc_from_id,         -- pool_block_id that mtrace_pool_resize replaced by this one; NULL: none
  group_id,                -- group to which it is charged; joins allocation_groups; 1: the root
  free_group_id            -- group of the freeing thread; NULL: not freed by a call
) AS
  SELECT b.pool_block_id, b.pool_id, (SELECT p.name FROM pools p WHERE p.pool_id = b.pool_id), b.allocation_id,
         b.address - (SELECT a.address FROM allocation_rows a WHERE a.allocation_id = b.allocation_id),
         (SELECT p.process_id FROM pools p WHERE p.pool_id = b.pool_id), b.thread_id, b.address, b.size_bytes,
         b.alloc_ns, b.alloc_ns + b.lifetime_ns, b.lifetime_ns, b.free_thread_id, b.backtrace_id, b.free_backtrace_id,
         CASE b.ended_by WHEN 1 THEN 'free' WHEN 2 THEN 'realloc' WHEN 3 THEN 'unseen' WHEN 4 THEN 'exec' END,
         b.ended_by = 0, b.realloc_from_id, b.group_id, b.free_group_id
  FROM pool_block_rows b;
