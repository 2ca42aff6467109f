-- Events: what the log said, each allocation one row from birth to death.

CREATE TABLE kinds (            -- what was called: 'malloc', 'calloc', 'realloc', 'aligned_alloc', …
  kind INTEGER PRIMARY KEY,             -- number in call_code and allocation_failures
  name TEXT NOT NULL                    -- of the function
) STRICT;

CREATE TABLE packed_allocation_rows ( -- private: one heap block from birth to death, to be read through allocation_rows; few columns, because each one costs the import time and a byte
  alloc_ns          INTEGER,            -- of birth
  lifetime_ns       INTEGER,            -- NULL: never ended
  address           INTEGER,            -- NULL: the recording has no addresses
  size_bytes        INTEGER,            -- requested
  slack_bytes       INTEGER,            -- usable minus requested; NULL: unknown
  backtrace_id      INTEGER,            -- where it was allocated
  free_backtrace_id INTEGER,            -- NULL: not ended by a call, or frees have no stacks
  ending            INTEGER,            -- freed by its own thread: intervening_allocations; ended by another one: minus its thread_id; else NULL
  traits            INTEGER,            -- minus 0x1000101, which is the commonest: ended_by (3 bits) | kind (5) | thread_id (16) | heap_id (24, 0: none) | thread_id above 65535 (8) | alignment_log2 (6) | is_above (1)
  allocation_id     INTEGER PRIMARY KEY -- 1, 2, 3, …
) STRICT;

CREATE TABLE row_ranges (       -- private: what lies in each 4,096 rows of packed_allocation_rows, so that a filter need not read those where nothing can pass
  first_id          INTEGER PRIMARY KEY,  -- allocation_id of the first
  last_id           INTEGER NOT NULL,     -- and of the last
  min_size_bytes    INTEGER NOT NULL,     -- the smallest request
  max_size_bytes    INTEGER NOT NULL,     -- the largest
  min_address       INTEGER,              -- the lowest; NULL: the recording has no addresses
  max_address       INTEGER,              -- the highest
  max_lifetime_ns   INTEGER,              -- the longest; NULL: none has ended
  unended           INTEGER NOT NULL      -- how many never ended
) STRICT;

CREATE VIEW allocation_rows(    -- private: packed_allocation_rows, unpacked
  allocation_id,                        -- 1, 2, 3, … in time order over all processes
  alloc_ns,                             -- of birth
  lifetime_ns,                          -- NULL: never ended
  address,                              -- NULL: the recording has no addresses
  size_bytes,                           -- requested
  slack_bytes,                          -- usable minus requested; NULL: unknown
  backtrace_id,                         -- where it was allocated
  free_backtrace_id,                    -- where it was ended; NULL: not by a call, or frees have no stacks
  thread_id,                            -- that allocated it
  other_free_thread_id,                 -- NULL: ended by thread_id, or never, or nobody knows by whom
  call_code,                            -- kind + 32 * alignment_log2 (0: malloc's own alignment)
  ended_by,                             -- 0 nothing: leaked; 1 free; 2 realloc; 3 unseen: another block was born at its address, lifetime_ns is the longest possible; 4 exec
  heap_id,                              -- NULL: a mapping of its own
  intervening_allocations,              -- the allocating thread's own other allocations between birth and death; NULL unless freed by free() in that thread
  is_above                              -- 1: a sample that counts as the whole number of blocks above 1/p, not below
) AS
  SELECT allocation_id, alloc_ns, lifetime_ns, address, size_bytes, slack_bytes, backtrace_id, free_backtrace_id,
         (traits + 0x1000101 >> 8 & 0xffff) + (traits + 0x1000101 >> 32 & 0xff0000),
         CASE WHEN ending < 0 THEN -ending END,
         (traits + 0x1000101 >> 3 & 31) + (traits + 0x1000101 >> 51 & 2016),
         traits + 0x1000101 & 7,
         nullif(traits + 0x1000101 >> 24 & 0xffffff, 0),
         CASE WHEN ending >= 0 THEN ending END,
         traits + 0x1000101 >> 62 & 1
  FROM packed_allocation_rows;

CREATE TABLE chain_rows (       -- private: the allocations that are links of a chain of two or more
  allocation_id   INTEGER PRIMARY KEY,  -- the link
  chain_id        INTEGER NOT NULL,     -- first member's allocation_id
  chain_position  INTEGER NOT NULL,     -- 1 = first
  realloc_from_id INTEGER               -- NULL for the first
) STRICT;

CREATE TABLE backtrace_allocations ( -- allocations by stack; filled by mtrace-import --index only
  backtrace_id  INTEGER NOT NULL,       -- where it was allocated
  allocation_id INTEGER NOT NULL,       -- in order of birth within a stack
  PRIMARY KEY (backtrace_id, allocation_id)
) STRICT, WITHOUT ROWID;

-- Not joins but subqueries: SQLite leaves out those that a query does not use.
CREATE VIEW allocations(        -- the public face of allocation_rows: one heap block from birth to death, where 'aggregate' of meta is 1 those alone that are live at the end, where only 'slim' is 1 none; columns that a query does not use cost nothing
  allocation_id,           -- in the order of birth
  process_id,              -- that allocated it
  thread_id,               -- that allocated it
  kind,                    -- what was called: 'malloc', 'calloc', 'realloc', …
  address,                 -- NULL: the recording has no addresses
  size_bytes,              -- requested
  usable_bytes,            -- that malloc really gave; NULL: unknown
  alignment,               -- asked for; NULL: malloc's own
  alloc_ns,                -- birth
  free_ns,                 -- end; NULL: never ended
  lifetime_ns,             -- from birth to end; NULL: never ended
  free_thread_id,          -- that ended it; NULL: never ended, or not by a call
  backtrace_id,            -- stack that allocated it, joins backtraces and stack_frames
  free_backtrace_id,       -- stack that ended it; NULL: frees have no stacks, or it was not ended by a call
  ended_by,                -- 'free', 'realloc', 'unseen' (its address was given out again), 'exec'; NULL: never ended
  is_leaked,               -- 1: never ended while the process lived
  intervening_allocations, -- others that its thread made before it freed it; of a elided log it is only known whether they were more than one; NULL: another thread did, or never ended
  chain_id,                -- joins realloc_chains; NULL: never reallocated
  chain_position,          -- 1 for the first block of the chain
  realloc_from_id,         -- allocation_id of the block that realloc made it of; NULL: none
  heap_id,                 -- joins heaps; NULL: a mapping of its own
  marker_id,               -- the last marker before its birth; NULL: none
  group_id,                -- that it is charged to, joins allocation_groups; 1: the root, also where the program has no groups
  free_group_id            -- that the thread was in that ended it; NULL: not ended by a call
) AS
  SELECT a.allocation_id, (SELECT t.process_id FROM threads t WHERE t.thread_id = a.thread_id) AS process_id, a.thread_id,
         (SELECT k.name FROM kinds k WHERE k.kind = a.call_code & 31) AS kind,
         a.address, a.size_bytes, a.size_bytes + a.slack_bytes AS usable_bytes,
         CASE WHEN a.call_code >= 32 THEN 1 << (a.call_code >> 5) END AS alignment,
         a.alloc_ns, a.alloc_ns + a.lifetime_ns AS free_ns, a.lifetime_ns,
         CASE WHEN a.ended_by IN (1, 2) THEN coalesce(a.other_free_thread_id, a.thread_id) END AS free_thread_id,
         a.backtrace_id, a.free_backtrace_id,
         CASE a.ended_by WHEN 1 THEN 'free' WHEN 2 THEN 'realloc' WHEN 3 THEN 'unseen' WHEN 4 THEN 'exec' END AS ended_by,
         a.ended_by = 0 AS is_leaked, a.intervening_allocations,
         (SELECT c.chain_id FROM chain_rows c WHERE c.allocation_id = a.allocation_id) AS chain_id,
         (SELECT c.chain_position FROM chain_rows c WHERE c.allocation_id = a.allocation_id) AS chain_position,
         (SELECT c.realloc_from_id FROM chain_rows c WHERE c.allocation_id = a.allocation_id) AS realloc_from_id,
         a.heap_id,
         (SELECT max(m.marker_id) FROM markers m WHERE m.at_ns <= a.alloc_ns AND m.process_id =
           (SELECT t.process_id FROM threads t WHERE t.thread_id = a.thread_id)) AS marker_id,
         coalesce((SELECT g.group_id FROM group_rows g WHERE g.allocation_id = a.allocation_id), 1) AS group_id,
         CASE WHEN a.ended_by IN (1, 2) THEN
           coalesce((SELECT g.free_group_id FROM group_rows g WHERE g.allocation_id = a.allocation_id), 1) END AS free_group_id
  FROM allocation_rows a;

-- Views have no parameters: here at_ns is the argument of a function that has one row, so that it may be any number.
CREATE VIEW live_blocks(        -- blocks that were live at an instant of your own: WHERE at_ns = … (a number, a subquery, a column of what it is joined to); without it no row
  at_ns,                   -- the instant that is asked for, as text
  process_id,              -- that allocated it
  allocation_id,           -- joins allocations
  size_bytes,              -- requested
  backtrace_id,            -- stack that allocated it, joins backtraces and stack_texts
  alloc_ns,                -- birth, at at_ns or before
  free_ns                  -- end, after at_ns; NULL: never ended
) AS
  SELECT j.json, (SELECT t.process_id FROM threads t WHERE t.thread_id = a.thread_id), a.allocation_id, a.size_bytes, a.backtrace_id,
         a.alloc_ns, a.alloc_ns + a.lifetime_ns
  FROM json_each AS j CROSS JOIN allocation_rows a
  WHERE a.alloc_ns <= j.value AND ifnull(a.alloc_ns + a.lifetime_ns > j.value, 1);

CREATE TABLE realloc_chains (   -- chains of two or more blocks
  chain_id            INTEGER PRIMARY KEY, -- allocation_id of the first member
  process_id          INTEGER NOT NULL, -- of all its members
  first_backtrace_id  INTEGER NOT NULL, -- where the first member was allocated
  last_allocation_id  INTEGER NOT NULL, -- of the last member
  last_backtrace_id   INTEGER NOT NULL, -- where the last member was allocated
  length              INTEGER NOT NULL, -- members, at least 2
  first_size_bytes    INTEGER NOT NULL, -- requested for the first
  last_size_bytes     INTEGER NOT NULL, -- requested for the last
  start_ns            INTEGER NOT NULL, -- birth of the first
  end_ns              INTEGER,          -- NULL: leaked, or lost at exec
  copied_bytes        INTEGER NOT NULL, -- sum of min(old, new) over the moves that changed the address
  moves               INTEGER NOT NULL  -- reallocs that changed the address
) STRICT;

CREATE TABLE allocation_failures (
  failure_id INTEGER PRIMARY KEY,       -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- that asked
  thread_id INTEGER,                    -- that asked; NULL: not known
  at_ns INTEGER NOT NULL,               -- when it failed
  backtrace_id INTEGER,                 -- where it asked; NULL: not known
  kind INTEGER NOT NULL,                -- what was called, see kinds
  size_bytes INTEGER NOT NULL,          -- requested; 9223372036854775807: so much or more, or a product that is no number
  errno INTEGER                         -- as the call left it
) STRICT;

CREATE TABLE unmatched_frees (  -- a call of free or realloc with an address that is no live block, where all blocks are recorded: not in a fork child, nor in a process that was recorded late or at times; the view errors explains them
  unmatched_free_id INTEGER NOT NULL,   -- 1, 2, … in no order that matters; at most 100,000 have rows: 'anomaly.unknown_free' and 'anomaly.unknown_realloc' of meta count all
  process_id INTEGER NOT NULL,          -- that called
  thread_id INTEGER,                    -- that called; NULL: not known
  at_ns INTEGER NOT NULL,               -- when
  backtrace_id INTEGER,                 -- where; NULL: not known, or frees have no stacks
  call TEXT NOT NULL,                   -- 'free' (or delete), 'realloc'
  address INTEGER NOT NULL,             -- that it passed
  PRIMARY KEY (address, unmatched_free_id)) STRICT, WITHOUT ROWID;

CREATE TABLE mmaps (            -- a piece of a mapping with one fate; pieces of one call share mmap_call_id and mapped_ns, their lengths sum to the call's
  mmap_id            INTEGER PRIMARY KEY, -- 1, 2, … in order of mapping and splitting
  mmap_call_id       INTEGER NOT NULL,  -- mmap_id of the call's first piece
  process_id         INTEGER NOT NULL,  -- that mapped it
  thread_id          INTEGER,           -- that mapped it; NULL: not known
  backtrace_id       INTEGER,           -- where it was mapped; NULL: not known
  address            INTEGER NOT NULL,  -- of its first byte
  length             INTEGER NOT NULL,  -- bytes, whole pages
  prot               INTEGER,           -- PROT_* bits as it was mapped, mprotect not recorded; NULL: mapped before the recording
  flags              INTEGER,           -- MAP_* bits as asked for; NULL: mapped before the recording
  fd                 INTEGER,           -- as passed; NULL: anonymous, or mapped before the recording
  file_offset        INTEGER,           -- bytes; 0: anonymous, or mapped before the recording
  path               TEXT,              -- of the file, or the name the kernel shows
  mapped_ns          INTEGER NOT NULL,  -- when
  unmapped_ns        INTEGER,           -- NULL: mapped to the end of the process
  unmap_thread_id    INTEGER,           -- that unmapped, remapped or covered it; NULL: none, or not known
  unmap_backtrace_id INTEGER,           -- where that was; NULL: none, or not known
  remapped_from_id   INTEGER,           -- mremap links the pieces
  peak_rss_bytes     INTEGER            -- most that was in memory of it: at a sample (by length where one covers several pieces), at its end if anonymous and private; NULL when nobody looked
) STRICT;

CREATE TABLE mallopts (
  mallopt_id INTEGER PRIMARY KEY,       -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- that called
  thread_id INTEGER,                    -- that called; NULL: not known
  backtrace_id INTEGER,                 -- where; NULL: not known
  at_ns INTEGER NOT NULL,               -- when
  call TEXT NOT NULL,                   -- 'mallopt' or 'malloc_trim'
  parameter INTEGER,                    -- of mallopt: what to set; NULL: malloc_trim
  parameter_name TEXT,                  -- 'M_…'; NULL: malloc_trim, or a number without a name
  value INTEGER,                        -- of mallopt: to what; of malloc_trim: bytes to keep at the top
  result INTEGER                        -- what the call returned: 1 done, 0 not
) STRICT;

CREATE TABLE markers (
  marker_id INTEGER PRIMARY KEY,        -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- that set it
  thread_id INTEGER,                    -- that set it; NULL: not known
  at_ns INTEGER NOT NULL,               -- when
  name TEXT NOT NULL                    -- as the program chose
) STRICT;

CREATE TABLE windows (          -- times in which allocations were recorded: one for a process that was recorded all the time; the frees of their blocks are recorded also later
  window_id INTEGER PRIMARY KEY,        -- 1, 2, … in order of process and begin
  process_id INTEGER NOT NULL,          -- that was recorded
  start_ns INTEGER NOT NULL,            -- when it began
  end_ns INTEGER,                       -- when it ended; NULL: with the process, or it goes on
  started_by TEXT,                      -- 'start' (of the process), 'signal', 'control' (mtrace-record --ctl), 'time' (--start-after), 'size' (--start-at-rss), 'program' (mtrace_tracking); NULL: not known
  ended_by TEXT,                        -- the same, 'time' (--stop-after), 'end' (of the process); NULL: it goes on (processes.end_kind is 'running', or 'unseen'), or not known
  allocated_blocks INTEGER NOT NULL,    -- born in it
  allocated_bytes INTEGER NOT NULL,     -- requested by those
  leaked_blocks INTEGER NOT NULL,       -- born in it and never ended
  leaked_bytes INTEGER NOT NULL,        -- requested by those
  first_allocation_id INTEGER, last_allocation_id INTEGER, -- of those born in it; other processes may have some between; NULL: none
  recorded_share REAL NOT NULL          -- of its time; 1, but of a log of --aggregate with very many windows: the last row is all later ones, and what lies between those was not recorded
) STRICT;

CREATE TABLE memory_samples (
  process_id INTEGER NOT NULL,          -- whose memory
  at_ns INTEGER NOT NULL,               -- when the recorder looked
  rss_bytes INTEGER,                    -- resident in all but own_bytes; the sum of the next two
  anonymous_bytes INTEGER,              -- resident and not shared
  file_bytes INTEGER,                   -- resident and of files or shared
  heap_extent_bytes INTEGER,            -- of all heaps at the latest look at them, which is taken less often, or as far as the highest blocks born in them since, where that is more; of allocators other than glibc's the bytes of live blocks; NULL: neither is known
  mapped_bytes INTEGER,                 -- at that instant, of live blocks in no heap and of anonymous mappings that may be touched, resident or not
  own_bytes INTEGER,                    -- resident of mtrace's own log, which is left out of the others; NULL: not known, and not left out
  PRIMARY KEY (process_id, at_ns)) STRICT, WITHOUT ROWID;
