-- Pools: allocators of the program's own, which give out parts of blocks of malloc, by mtrace_pool_*.

CREATE TABLE pools (            -- made by mtrace_pool_create, or by heaptrack's calls; empty where the program has none. Nothing of this is in any other total: those are malloc's
  pool_id INTEGER PRIMARY KEY,          -- 1, 2, … in order of process and creation
  process_id INTEGER NOT NULL,          -- that it is in; a fork child has its parent's anew
  name TEXT NOT NULL,                   -- as the program chose; 'heaptrack_api' of heaptrack's calls
  allocated_blocks INTEGER NOT NULL,    -- it gave out, by its program's own word
  allocated_bytes INTEGER NOT NULL,     -- requested for those
  freed_blocks INTEGER NOT NULL,        -- ended, one by one or with the pool or the block of malloc they lay in
  freed_bytes INTEGER NOT NULL,         -- requested for those
  live_blocks INTEGER NOT NULL,         -- never ended
  live_bytes INTEGER NOT NULL,          -- requested for those
  peak_bytes INTEGER NOT NULL,          -- highest sum of live bytes in it
  peak_ns INTEGER,                      -- the first time that was reached; NULL: never any
  taken_blocks INTEGER,                 -- of malloc, in which its blocks lay, each once, whatever realloc made of it; NULL, as the next three: recorded with --sample-bytes
  taken_bytes INTEGER,                  -- requested for those
  held_bytes INTEGER,                   -- of taken_bytes, in blocks that were never freed
  spare_bytes INTEGER                   -- of held_bytes, not in live blocks of this pool
) STRICT;

CREATE TABLE pool_block_rows (  -- private: one block of a pool from birth to death, to be read through pool_blocks
  pool_block_id INTEGER PRIMARY KEY,    -- 1, 2, … in order of birth
  pool_id INTEGER NOT NULL,             -- that gave it out
  allocation_id INTEGER,                -- the block of malloc it was born in; NULL: in none
  realloc_from_id INTEGER,              -- pool_block_id that mtrace_pool_resize made it of; NULL: none
  thread_id INTEGER NOT NULL,           -- that took it
  address INTEGER NOT NULL,             -- of its first byte
  size_bytes INTEGER NOT NULL,          -- requested
  alloc_ns INTEGER NOT NULL,            -- birth
  lifetime_ns INTEGER,                  -- NULL: never ended
  free_thread_id INTEGER,               -- that ended it; NULL: never ended, or not by a call
  backtrace_id INTEGER NOT NULL,        -- where it was taken
  free_backtrace_id INTEGER,            -- where it was ended; NULL: not by a call
  ended_by INTEGER NOT NULL,            -- as in allocation_rows
  group_id INTEGER NOT NULL,            -- that its thread was in at its birth
  free_group_id INTEGER                 -- that the thread was in that ended it; NULL: not ended by a call
) STRICT;

CREATE VIEW pool_blocks(        -- one block of a pool from birth to death, inside a block of allocations; columns as there
  pool_block_id,           -- in the order of birth
  pool_id,                 -- joins pools
  pool,                    -- its name
  allocation_id,           -- the block of malloc that it was born in, joins allocations; NULL: in none, as in a mapping
  offset_bytes,            -- from the start of that block
  process_id,              -- that the pool is in
  thread_id,               -- that took it
  address,                 -- of its first byte
  size_bytes,              -- requested
  alloc_ns,                -- birth
  free_ns,                 -- end; NULL: never ended
  lifetime_ns,             -- from birth to end; NULL: never ended
  free_thread_id,          -- that ended it; NULL: never ended, or not by a call
  backtrace_id,            -- stack that took it, joins backtraces and stack_frames
  free_backtrace_id,       -- stack that ended it, or the pool, or the block of malloc; NULL: not ended by a call
  ended_by,                -- 'free', 'realloc' (mtrace_pool_resize), 'unseen', 'exec'; NULL: never ended
  is_leaked,               -- 1: never ended while the process lived
  realloc_from_id,         -- pool_block_id that mtrace_pool_resize made it of; NULL: none
  group_id,                -- that it is charged to, joins allocation_groups; 1: the root
  free_group_id            -- that the thread was in that ended it; NULL: not ended by a call
) AS
  SELECT b.pool_block_id, b.pool_id, (SELECT p.name FROM pools p WHERE p.pool_id = b.pool_id), b.allocation_id,
         b.address - (SELECT a.address FROM allocation_rows a WHERE a.allocation_id = b.allocation_id),
         (SELECT p.process_id FROM pools p WHERE p.pool_id = b.pool_id), b.thread_id, b.address, b.size_bytes,
         b.alloc_ns, b.alloc_ns + b.lifetime_ns, b.lifetime_ns, b.free_thread_id, b.backtrace_id, b.free_backtrace_id,
         CASE b.ended_by WHEN 1 THEN 'free' WHEN 2 THEN 'realloc' WHEN 3 THEN 'unseen' WHEN 4 THEN 'exec' END,
         b.ended_by = 0, b.realloc_from_id, b.group_id, b.free_group_id
  FROM pool_block_rows b;
