-- Objects: the memory that the program's objects own, as the program reports it (mtrace_objects.h), next to the live blocks of malloc.

CREATE TABLE object_walks (     -- one row for each mtrace_walk_record; empty if the program has none
  walk_id INTEGER PRIMARY KEY,          -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- process of the objects
  thread_id INTEGER,                    -- thread that recorded it; NULL: not known
  at_ns INTEGER NOT NULL,               -- when the walk began
  name TEXT NOT NULL,                   -- chosen by the program
  live_blocks INTEGER NOT NULL,         -- live blocks of malloc at the end of the walk
  live_bytes INTEGER NOT NULL,          -- their requested bytes
  claimed_blocks INTEGER NOT NULL,      -- of those, owned by an object
  claimed_bytes INTEGER NOT NULL,       -- their requested bytes
  warnings INTEGER NOT NULL,            -- number of warnings about the program's visitors; object_warnings has the first 64
  is_whole INTEGER NOT NULL             -- 0: the recording ended during the walk, and the columns from live_blocks to claimed_bytes are 0
) STRICT;

CREATE TABLE object_nodes (     -- the tree of a walk: all objects with one path of names
  walk_id INTEGER NOT NULL,             -- joins object_walks
  node_id INTEGER NOT NULL,             -- 1, 2, …, parents first
  parent_node_id INTEGER,               -- NULL: a top node
  path TEXT NOT NULL,                   -- names from the top with ; between them, as flame graph tools read it
  name TEXT NOT NULL,                   -- type of a block, key of a member
  kind TEXT NOT NULL,                   -- 'block' (own memory), 'field' and 'pointer' (part of the parent), 'opaque' (a part that was not visited further), and the leaves 'padding', 'unused_capacity', 'slack' (requested, but not declared by any object), 'malloc_overhead' (usable minus requested)
  objects INTEGER NOT NULL,             -- number of objects visited
  self_bytes INTEGER NOT NULL,          -- bytes of this node, without those of other nodes
  total_bytes INTEGER NOT NULL,         -- bytes of this node and of all nodes below it
  PRIMARY KEY (walk_id, node_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE object_claims (    -- blocks and the nodes that own them
  walk_id INTEGER NOT NULL,             -- joins object_walks
  claim_id INTEGER NOT NULL,            -- 1, 2, … in the order of the walk
  node_id INTEGER NOT NULL,             -- joins object_nodes
  kind TEXT NOT NULL,                   -- 'root' (a top object, which need not be a block), 'unique', 'shared'
  address INTEGER NOT NULL,             -- address of the object
  declared_bytes INTEGER NOT NULL,      -- size that the program declared
  size_bytes INTEGER,                   -- requested size of the block; NULL: no block begins there
  allocation_id INTEGER,                -- live block that begins there; joins allocations; NULL: none
  pool_block_id INTEGER,                -- live block of a pool that begins there; joins pool_blocks; NULL: none
  is_repeated INTEGER NOT NULL,         -- 1: an earlier claim of the walk has the same block
  PRIMARY KEY (walk_id, claim_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE unclaimed_totals ( -- live blocks that no object of a walk owns, by stack
  walk_id INTEGER NOT NULL,             -- joins object_walks
  backtrace_id INTEGER NOT NULL,        -- stack that allocated them
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- requested
  PRIMARY KEY (walk_id, backtrace_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE object_warnings (
  walk_id INTEGER NOT NULL,             -- joins object_walks
  warning_id INTEGER NOT NULL,          -- 1, 2, …
  text TEXT NOT NULL,                   -- path of the object, and what is wrong there
  PRIMARY KEY (walk_id, warning_id)
) STRICT, WITHOUT ROWID;
