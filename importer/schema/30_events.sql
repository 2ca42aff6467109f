-- Events of the log. Each allocation is one row from allocation to free.

CREATE TABLE kinds (            -- functions that allocate: 'malloc', 'calloc', 'realloc', 'aligned_alloc', …
  kind INTEGER PRIMARY KEY,             -- number in call_code and allocation_failures
  name TEXT NOT NULL                    -- name of the function
) STRICT;

CREATE TABLE packed_allocation_rows ( -- private: one heap block from allocation to free; read it through allocation_rows. It has few columns, because each one costs import time and a byte per row
  alloc_ns          INTEGER,            -- time of the allocation
  lifetime_ns       INTEGER,            -- NULL: never freed
  address           INTEGER,            -- NULL: the recording has no addresses
  size_bytes        INTEGER,            -- requested
  slack_bytes       INTEGER,            -- usable minus requested; NULL: unknown
  backtrace_id      INTEGER,            -- stack that allocated it
  free_backtrace_id INTEGER,            -- NULL: not freed by a call, or frees have no stacks
  ending            INTEGER,            -- freed by its own thread: intervening_allocations; freed by another one: minus its thread_id; else NULL
  traits            INTEGER,            -- minus 0x1000101, the most frequent value: ended_by (3 bits) | kind (5) | thread_id (16) | heap_id (24, 0: none) | thread_id above 65535 (8) | alignment_log2 (6) | is_above (1)
  allocation_id     INTEGER PRIMARY KEY -- 1, 2, 3, …
) STRICT;

CREATE TABLE row_ranges (       -- private: ranges of values in each 4,096 rows of packed_allocation_rows, so that a filter can skip batches without a match
  first_id          INTEGER PRIMARY KEY,  -- allocation_id of the first row
  last_id           INTEGER NOT NULL,     -- allocation_id of the last row
  min_size_bytes    INTEGER NOT NULL,     -- smallest request
  max_size_bytes    INTEGER NOT NULL,     -- largest request
  min_address       INTEGER,              -- lowest address; NULL: the recording has no addresses
  max_address       INTEGER,              -- highest address
  max_lifetime_ns   INTEGER,              -- longest lifetime; NULL: none was freed
  unended           INTEGER NOT NULL      -- number of rows without a lifetime
) STRICT;

CREATE VIEW allocation_rows(    -- private: packed_allocation_rows, unpacked
  allocation_id,                        -- 1, 2, 3, … in time order over all processes
  alloc_ns,                             -- time of the allocation
  lifetime_ns,                          -- NULL: never freed
  address,                              -- NULL: the recording has no addresses
  size_bytes,                           -- requested
  slack_bytes,                          -- usable minus requested; NULL: unknown
  backtrace_id,                         -- stack that allocated it
  free_backtrace_id,                    -- stack that freed it; NULL: not freed by a call, or frees have no stacks
  thread_id,                            -- thread that allocated it
  other_free_thread_id,                 -- thread that freed it; NULL: thread_id freed it, or it was never freed, or the thread is not known
  call_code,                            -- kind + 32 * alignment_log2 (0: malloc's own alignment)
  ended_by,                             -- 0 nothing: leaked; 1 free; 2 realloc; 3 unseen: another block was allocated at its address, and lifetime_ns is the longest possible; 4 exec
  heap_id,                              -- NULL: a mapping of its own
  intervening_allocations,              -- other allocations of the allocating thread between allocation and free; NULL unless that thread freed it by free()
  is_above                              -- 1: a sample that counts as 1/p blocks rounded up; 0: rounded down
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

CREATE TABLE chain_rows (       -- private: allocations in a chain of two or more
  allocation_id   INTEGER PRIMARY KEY,  -- member of the chain
  chain_id        INTEGER NOT NULL,     -- allocation_id of the first member
  chain_position  INTEGER NOT NULL,     -- 1 for the first member
  realloc_from_id INTEGER               -- NULL for the first
) STRICT;

CREATE TABLE backtrace_allocations ( -- allocations by stack; filled by mtrace-import --index only
  backtrace_id  INTEGER NOT NULL,       -- stack that allocated it
  allocation_id INTEGER NOT NULL,       -- in order of allocation within a stack
  PRIMARY KEY (backtrace_id, allocation_id)
) STRICT, WITHOUT ROWID;

-- Columns are subqueries, not joins, because SQLite omits subqueries that a query does not use.
CREATE VIEW allocations(        -- one row per heap block from allocation to free; if 'aggregate' of meta is 1, only blocks that are live at the end; if only 'slim' is 1, no rows; columns that a query does not use cost nothing
  allocation_id,           -- in the order of allocation
  process_id,              -- process that allocated it
  thread_id,               -- thread that allocated it
  kind,                    -- function that was called: 'malloc', 'calloc', 'realloc', …
  address,                 -- NULL: the recording has no addresses
  size_bytes,              -- requested
  usable_bytes,            -- size of the block that malloc returned; NULL: unknown
  alignment,               -- requested alignment; NULL: malloc's own
  alloc_ns,                -- time of the allocation
  free_ns,                 -- time of the free; NULL: never freed
  lifetime_ns,             -- from allocation to free; NULL: never freed
  free_thread_id,          -- thread that freed it; NULL: never freed, or not by a call
  backtrace_id,            -- stack that allocated it; joins backtraces and stack_frames
  free_backtrace_id,       -- stack that freed it; NULL: frees have no stacks, or it was not freed by a call
  ended_by,                -- 'free', 'realloc', 'unseen' (its address was allocated again), 'exec'; NULL: still live at the end of the process
  is_leaked,               -- 1: not freed while the process lived
  intervening_allocations, -- other allocations of its thread before that thread freed it; in a log with elided blocks it is only known whether there was more than one; NULL: freed by another thread, or never
  chain_id,                -- joins realloc_chains; NULL: never reallocated
  chain_position,          -- 1 for the first block of the chain
  realloc_from_id,         -- allocation_id of the block that realloc replaced by this one; NULL: none
  heap_id,                 -- joins heaps; NULL: a mapping of its own
  marker_id,               -- last marker at or before its allocation; NULL: none
  group_id,                -- group to which it is charged; joins allocation_groups; 1: the root, also if the program has no groups
  free_group_id            -- group of the freeing thread at that time; NULL: not freed by a call
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

-- Views have no parameters. Here at_ns is the argument of a table-valued function with one row, so it may be any number.
CREATE VIEW live_blocks(        -- blocks that were live at a time that you choose: WHERE at_ns = … (a number, a subquery, or a column of a joined table); no rows without it
  at_ns,                   -- the requested time, as text
  process_id,              -- process that allocated it
  allocation_id,           -- joins allocations
  size_bytes,              -- requested
  backtrace_id,            -- stack that allocated it, joins backtraces and stack_texts
  alloc_ns,                -- time of the allocation, at at_ns or before
  free_ns                  -- time of the free, after at_ns; NULL: never freed
) AS
  SELECT j.json, (SELECT t.process_id FROM threads t WHERE t.thread_id = a.thread_id), a.allocation_id, a.size_bytes, a.backtrace_id,
         a.alloc_ns, a.alloc_ns + a.lifetime_ns
  FROM json_each AS j CROSS JOIN allocation_rows a
  WHERE a.alloc_ns <= j.value AND ifnull(a.alloc_ns + a.lifetime_ns > j.value, 1);

CREATE TABLE realloc_chains (   -- chains of two or more blocks
  chain_id            INTEGER PRIMARY KEY, -- allocation_id of the first member
  process_id          INTEGER NOT NULL, -- process of all its members
  first_backtrace_id  INTEGER NOT NULL, -- stack that allocated the first member
  last_allocation_id  INTEGER NOT NULL, -- allocation_id of the last member
  last_backtrace_id   INTEGER NOT NULL, -- stack that allocated the last member
  length              INTEGER NOT NULL, -- members, at least 2
  first_size_bytes    INTEGER NOT NULL, -- requested size of the first
  last_size_bytes     INTEGER NOT NULL, -- requested size of the last
  start_ns            INTEGER NOT NULL, -- time when the first was allocated
  end_ns              INTEGER,          -- time when the last was freed; NULL: leaked, or lost at exec
  copied_bytes        INTEGER NOT NULL, -- sum of min(old size, new size) over the reallocs that changed the address, without those whose pages glibc moved by mremap
  moves               INTEGER NOT NULL  -- reallocs that changed the address
) STRICT;

CREATE TABLE allocation_failures (
  failure_id INTEGER PRIMARY KEY,       -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- process that made the call
  thread_id INTEGER,                    -- thread that made the call; NULL: not known
  at_ns INTEGER NOT NULL,               -- time of the failure
  backtrace_id INTEGER,                 -- stack of the call; NULL: not known
  kind INTEGER NOT NULL,                -- function that was called; joins kinds
  size_bytes INTEGER NOT NULL,          -- requested; 9223372036854775807: this size or more, or a product that overflows
  errno INTEGER                         -- errno after the call
) STRICT;

CREATE TABLE unmatched_frees (  -- calls of free or realloc with an address that is not a live block; only in processes whose blocks are all recorded: not in fork children, nor in processes that were recorded late or only at times. See the view errors
  address INTEGER NOT NULL,             -- address that the program passed
  unmatched_free_id INTEGER NOT NULL,   -- 1, 2, …; the order has no meaning; at most 100,000 have rows; 'anomaly.unknown_free' and 'anomaly.unknown_realloc' of meta count all
  process_id INTEGER NOT NULL,          -- process that made the call
  thread_id INTEGER,                    -- thread that made the call; NULL: not known
  at_ns INTEGER NOT NULL,               -- time of the call
  backtrace_id INTEGER,                 -- stack of the call; NULL: not known, or frees have no stacks
  call TEXT NOT NULL,                   -- 'free' (or delete), 'realloc'
  PRIMARY KEY (address, unmatched_free_id)) STRICT, WITHOUT ROWID;

CREATE TABLE mmaps (            -- a piece of a mapping that ends as a whole; pieces of one call share mmap_call_id and mapped_ns, and their lengths sum to the length of the call
  mmap_id            INTEGER PRIMARY KEY, -- 1, 2, … in order of mapping and splitting
  mmap_call_id       INTEGER NOT NULL,  -- mmap_id of the call's first piece
  process_id         INTEGER NOT NULL,  -- process that mapped it
  thread_id          INTEGER,           -- thread that mapped it; NULL: not known
  backtrace_id       INTEGER,           -- stack of the mapping call; NULL: not known
  address            INTEGER NOT NULL,  -- address of its first byte
  length             INTEGER NOT NULL,  -- bytes, whole pages
  prot               INTEGER,           -- PROT_* bits of the call; mprotect is not recorded; NULL: mapped before the recording
  flags              INTEGER,           -- MAP_* bits of the call; NULL: mapped before the recording
  fd                 INTEGER,           -- as passed; NULL: anonymous, or mapped before the recording
  file_offset        INTEGER,           -- in bytes; 0: anonymous, or mapped before the recording
  path               TEXT,              -- path of the file, or the name that the kernel shows
  mapped_ns          INTEGER NOT NULL,  -- time of the call
  unmapped_ns        INTEGER,           -- NULL: mapped to the end of the process
  unmap_thread_id    INTEGER,           -- thread that unmapped, remapped or covered it; NULL: none, or not known
  unmap_backtrace_id INTEGER,           -- stack of that call; NULL: none, or not known
  remapped_from_id   INTEGER,           -- mmap_id of the piece that mremap turned into this one
  peak_rss_bytes     INTEGER,           -- highest number of its bytes in memory: at a sample, or at its end if anonymous and private; NULL: never sampled
  peak_rss_ns        INTEGER            -- time of the last sample with that many: what became resident later is not in peak_rss_bytes; NULL: never sampled
) STRICT;

CREATE TABLE mallopts (
  mallopt_id INTEGER PRIMARY KEY,       -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- process that made the call
  thread_id INTEGER,                    -- thread that made the call; NULL: not known
  backtrace_id INTEGER,                 -- stack of the call; NULL: not known
  at_ns INTEGER NOT NULL,               -- time of the call
  call TEXT NOT NULL,                   -- 'mallopt' or 'malloc_trim'
  parameter INTEGER,                    -- parameter of mallopt; NULL: malloc_trim
  parameter_name TEXT,                  -- 'M_…'; NULL: malloc_trim, or a parameter without a name
  value INTEGER,                        -- mallopt: the new value; malloc_trim: bytes to keep at the top
  result INTEGER                        -- return value of the call: 1 success, 0 failure
) STRICT;

CREATE TABLE markers (
  marker_id INTEGER PRIMARY KEY,        -- 1, 2, … in time order
  process_id INTEGER NOT NULL,          -- process that set the marker
  thread_id INTEGER,                    -- thread that set the marker; NULL: not known
  at_ns INTEGER NOT NULL,               -- time of the call
  name TEXT NOT NULL                    -- chosen by the program
) STRICT;

CREATE TABLE windows (          -- times in which allocations were recorded: one row if the process was recorded all the time; frees of these blocks are recorded later, too
  window_id INTEGER PRIMARY KEY,        -- 1, 2, … in order of process and begin
  process_id INTEGER NOT NULL,          -- process that was recorded
  start_ns INTEGER NOT NULL,            -- when it began
  end_ns INTEGER,                       -- when it ended; NULL: it lasted to the end of the process, or has not ended
  started_by TEXT,                      -- 'start' (of the process), 'signal', 'control' (mtrace-record --ctl), 'time' (--start-after), 'size' (--start-at-rss), 'program' (mtrace_tracking); NULL: not known
  ended_by TEXT,                        -- values as in started_by, but 'time' is --stop-after; or 'end' (of the process); NULL: it has not ended (processes.end_kind is 'running' or 'unseen'), or not known
  allocated_blocks INTEGER NOT NULL,    -- allocated in it
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  leaked_blocks INTEGER NOT NULL,       -- allocated in it and never freed
  leaked_bytes INTEGER NOT NULL,        -- their requested bytes
  first_allocation_id INTEGER, last_allocation_id INTEGER, -- first and last block allocated in it; blocks of other processes may lie between them; NULL: none
  recorded_share REAL NOT NULL          -- recorded part of its time: 1, except in a log of --aggregate with very many windows; its last row joins all later windows and the unrecorded times between them
) STRICT;

CREATE TABLE memory_samples (
  process_id INTEGER NOT NULL,          -- process whose memory was measured
  at_ns INTEGER NOT NULL,               -- when the recorder took the sample
  rss_bytes INTEGER,                    -- all resident bytes without own_bytes; the sum of the next two columns
  anonymous_bytes INTEGER,              -- resident bytes that are not shared
  file_bytes INTEGER,                   -- resident bytes of files, or shared
  own_bytes INTEGER,                    -- resident bytes of mtrace itself (its log, library and data), not included in the other columns; NULL: not known, and included
  heap_resident_bytes INTEGER,          -- resident bytes of heaps: those of glibc, and pages in which blocks of another allocator lie or lay. The sum of this and the next five columns is rss_bytes; NULL in all: parts were not sampled at that time, which takes longer than the other columns
  own_mapping_resident_bytes INTEGER,   -- of live blocks with a mapping of their own, and of private anonymous mappings that the program or a library made through libc
  thread_stack_resident_bytes INTEGER,  -- of stacks of all threads, also of ended ones that libc keeps for later threads
  shared_memory_bytes INTEGER,          -- of shared memory: MAP_SHARED without a file, memfd, System V, /dev/shm
  file_resident_bytes INTEGER,          -- of mapped files, with changed copies of their pages and zero-initialized data of modules
  other_resident_bytes INTEGER,         -- of what is none of these: mapped by system calls and not through libc, mapped before the recording or before a fork, by the kernel, stacks of threads that never allocated
  PRIMARY KEY (process_id, at_ns)) STRICT, WITHOUT ROWID;
