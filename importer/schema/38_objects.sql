-- Objects: what the program itself said its objects own (mtrace_objects.h), beside the blocks of malloc that were live then.

CREATE TABLE object_walks (     -- one for each mtrace_walk_record; empty where the program has none
  walk_id INTEGER PRIMARY KEY,          -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- whose objects they are
  thread_id INTEGER,                    -- that recorded it; NULL: not known
  at_ns INTEGER NOT NULL,               -- when the recording of it began
  name TEXT NOT NULL,                   -- as the program chose
  live_blocks INTEGER NOT NULL,         -- of malloc, at its end
  live_bytes INTEGER NOT NULL,          -- requested for those
  claimed_blocks INTEGER NOT NULL,      -- of those, that an object owns
  claimed_bytes INTEGER NOT NULL,       -- requested for those
  warnings INTEGER NOT NULL,            -- of the program's side; object_warnings has the first 64
  is_whole INTEGER NOT NULL             -- 0: the recording ends within it, and live_blocks to claimed_bytes are 0
) STRICT;

CREATE TABLE object_nodes (     -- the tree of a walk: all objects with one path of names
  walk_id INTEGER NOT NULL,             -- joins object_walks
  node_id INTEGER NOT NULL,             -- 1, 2, …, parents first
  parent_node_id INTEGER,               -- NULL: on top
  path TEXT NOT NULL,                   -- names from the top, with ; between, as tools for flame graphs take it
  name TEXT NOT NULL,                   -- type of a block, key of a member
  kind TEXT NOT NULL,                   -- 'block' (own memory), 'field' and 'pointer' (part of the parent), 'opaque' (the same, not looked into), and the leaves 'padding', 'unused_capacity', 'slack' (requested, declared by nobody), 'malloc_overhead' (usable minus requested)
  objects INTEGER NOT NULL,             -- visited
  self_bytes INTEGER NOT NULL,          -- without what other nodes have of it
  total_bytes INTEGER NOT NULL,         -- with all nodes below it
  PRIMARY KEY (walk_id, node_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE object_claims (    -- which block belongs to which node
  walk_id INTEGER NOT NULL,             -- joins object_walks
  claim_id INTEGER NOT NULL,            -- 1, 2, … in the order of the walk
  node_id INTEGER NOT NULL,             -- joins object_nodes
  kind TEXT NOT NULL,                   -- 'root' (an object on top, which need not be a block), 'unique', 'shared'
  address INTEGER NOT NULL,             -- of the object
  declared_bytes INTEGER NOT NULL,      -- by the program
  size_bytes INTEGER,                   -- requested for the block; NULL: no block begins there
  allocation_id INTEGER,                -- the live block that begins there, joins allocations; NULL: none
  pool_block_id INTEGER,                -- the same of a pool, joins pool_blocks; NULL: none
  is_repeated INTEGER NOT NULL,         -- 1: another claim of the walk had the block before
  PRIMARY KEY (walk_id, claim_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE unclaimed_totals ( -- live blocks that no object of a walk owns, by stack
  walk_id INTEGER NOT NULL,             -- joins object_walks
  backtrace_id INTEGER NOT NULL,        -- where they were allocated
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- requested
  PRIMARY KEY (walk_id, backtrace_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE object_warnings (
  walk_id INTEGER NOT NULL,             -- joins object_walks
  warning_id INTEGER NOT NULL,          -- 1, 2, …
  text TEXT NOT NULL,                   -- the path, and what is wrong there
  PRIMARY KEY (walk_id, warning_id)
) STRICT, WITHOUT ROWID;
