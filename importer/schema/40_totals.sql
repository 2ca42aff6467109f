-- Totals: the tables that the built-in views read.

-- The importer makes them, and they can be rebuilt from the events. Keys begin with the process. They are small, so all views are fast.
-- allocated = freed + leaked, in blocks and bytes. Freed means by free, by realloc or unseen. Only a process that
-- ended in exec has blocks that are neither freed nor leaked.
-- If blocks are samples (processes.sample_bytes), all totals are estimates. A block of s bytes was drawn with
-- probability p = 1 - exp(-s / sample_bytes), and counts as 1 / p blocks and s / p bytes. *_margin is half of the width of the
-- 95 % interval of an estimate, NULL if every block was recorded. The margin of a sum of rows is sqrt(sum(margin * margin)). Numbers of
-- reallocs and chains count only the samples themselves. Numbers of temporary blocks are 0, because samples do not show them.

CREATE TABLE backtrace_totals (
  process_id INTEGER NOT NULL,          -- process of the stack
  backtrace_id INTEGER NOT NULL,        -- stack that allocated the blocks
  allocated_blocks INTEGER NOT NULL,    -- allocated by this stack, reallocs and elided blocks included
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  freed_blocks INTEGER NOT NULL,        -- of them, freed by free, realloc or unseen
  freed_bytes INTEGER NOT NULL,         -- their requested bytes
  leaked_blocks INTEGER NOT NULL,       -- of them, never freed
  leaked_bytes INTEGER NOT NULL,        -- their requested bytes
  leaked_first_ns INTEGER, leaked_last_ns INTEGER, -- when the first and the last leaked block were allocated
  temporary_blocks INTEGER NOT NULL, temporary_bytes INTEGER NOT NULL, -- freed blocks with intervening_allocations <= 1, and their requested bytes
  peak_blocks INTEGER NOT NULL, peak_bytes INTEGER NOT NULL, -- live at the peak of the process
  own_peak_bytes INTEGER NOT NULL,      -- highest sum of its own live bytes; if blocks were elided, it may have been higher by up to meta elided.most_live_bytes
  own_peak_ns INTEGER NOT NULL,         -- first time when own_peak_bytes was reached
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, -- when the first and the last block were allocated
  min_size_bytes INTEGER NOT NULL,      -- smallest request
  max_size_bytes INTEGER NOT NULL,      -- largest request
  slack_bytes INTEGER NOT NULL,         -- usable minus requested bytes, summed over all blocks
  lifetime_sum_ns REAL NOT NULL,        -- sum of the lifetimes of freed blocks; exact up to 2^53
  chains_started INTEGER NOT NULL, chains_leaked INTEGER NOT NULL, -- chains, single blocks included, whose first member this stack allocated
  realloc_count INTEGER NOT NULL, realloc_copied_bytes INTEGER NOT NULL, -- blocks that this stack allocated by realloc of another; min(old size, new size) of those that moved
  elided_blocks INTEGER NOT NULL, elided_bytes INTEGER NOT NULL, -- logged only as counts; included in allocated and freed
  allocated_blocks_margin REAL, allocated_bytes_margin REAL, -- half of the width of the 95 % interval of allocated_blocks and allocated_bytes; NULL: they are exact
  leaked_blocks_margin REAL, leaked_bytes_margin REAL, -- as above, of leaked_blocks and leaked_bytes
  peak_blocks_margin REAL, peak_bytes_margin REAL, -- as above, of peak_blocks and peak_bytes
  PRIMARY KEY (process_id, backtrace_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE function_totals (  -- totals by function; a recursive function counts once per stack; self: the call site is in this function
  process_id INTEGER NOT NULL,          -- process that ran it
  function_id INTEGER NOT NULL,         -- the function
  self_allocated_blocks INTEGER NOT NULL, -- allocated where the call site is in this function
  self_allocated_bytes INTEGER NOT NULL, -- their requested bytes
  self_leaked_bytes INTEGER NOT NULL,   -- of them, leaked
  self_peak_bytes INTEGER NOT NULL,     -- of them, live at the peak of the process
  self_temporary_blocks INTEGER NOT NULL, -- of them, temporary
  total_allocated_blocks INTEGER NOT NULL, -- allocated with this function anywhere on the stack
  total_allocated_bytes INTEGER NOT NULL, -- their requested bytes
  total_leaked_bytes INTEGER NOT NULL,  -- of them, leaked
  total_peak_bytes INTEGER NOT NULL,    -- of them, live at the peak of the process
  total_temporary_blocks INTEGER NOT NULL, -- of them, temporary
  self_allocated_blocks_margin REAL, self_allocated_bytes_margin REAL, self_leaked_bytes_margin REAL, self_peak_bytes_margin REAL, -- half of the width of the 95 % interval of each; NULL: they are exact
  total_allocated_blocks_margin REAL, total_allocated_bytes_margin REAL, total_leaked_bytes_margin REAL, total_peak_bytes_margin REAL, -- as above, of the total columns
  PRIMARY KEY (process_id, function_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE free_sites (       -- stacks that free the blocks of each stack; by free only
  process_id INTEGER NOT NULL,          -- process of both
  backtrace_id INTEGER NOT NULL,        -- stack that allocated them
  free_backtrace_id INTEGER NOT NULL,   -- stack that freed them; 0: any other stack, in a log of --aggregate, which distinguishes 32
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- their requested bytes
  PRIMARY KEY (process_id, backtrace_id, free_backtrace_id)) STRICT, WITHOUT ROWID;

CREATE TABLE leaked_allocations (    -- when leaked blocks were allocated
  process_id INTEGER NOT NULL,          -- process that never freed them
  backtrace_id INTEGER NOT NULL,        -- stack that allocated them
  part INTEGER NOT NULL,                -- 0 to 63: one of 64 equal parts of the time from the first window to the end of the last; if all was recorded, of the life of the process
  blocks INTEGER NOT NULL,              -- allocated in it, at least 1
  bytes INTEGER NOT NULL,               -- their requested bytes
  PRIMARY KEY (process_id, backtrace_id, part)) STRICT, WITHOUT ROWID;

CREATE TABLE timeline (
  process_id INTEGER NOT NULL,          -- the process
  bucket INTEGER NOT NULL,              -- 0, 1, 2, …
  start_ns INTEGER NOT NULL,            -- start of the bucket, inclusive
  end_ns INTEGER NOT NULL,              -- start of the next bucket; for the last one, the end of the process
  live_bytes INTEGER NOT NULL, live_blocks INTEGER NOT NULL, -- at end_ns
  peak_bytes INTEGER NOT NULL, low_bytes INTEGER NOT NULL, -- highest and lowest sum of live bytes in the bucket; for elided blocks see meta elided.most_live_bytes
  allocated_blocks INTEGER NOT NULL,    -- allocated in the bucket
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  freed_blocks INTEGER NOT NULL,        -- freed in the bucket
  freed_bytes INTEGER NOT NULL,         -- their requested bytes
  leaked_blocks INTEGER NOT NULL,       -- allocated until end_ns and never freed
  leaked_bytes INTEGER NOT NULL,        -- their requested bytes
  live_bytes_margin REAL, peak_bytes_margin REAL, -- half of the width of the 95 % interval of live_bytes and of peak_bytes; NULL: they are exact
  allocated_bytes_margin REAL, freed_bytes_margin REAL, leaked_bytes_margin REAL, -- as above, of these columns
  PRIMARY KEY (process_id, bucket)) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (        -- times at which the live bytes of every stack were stored
  snapshot_id INTEGER PRIMARY KEY,      -- 1, 2, …
  process_id INTEGER NOT NULL,          -- the process
  at_ns INTEGER NOT NULL,               -- time of the snapshot; it includes all events of this time
  reason TEXT NOT NULL                  -- 'peak', 'end' or 'regular'; there are fewer than 128 regular ones, at equal distances in the recorded time
) STRICT;
CREATE TABLE snapshot_backtraces ( -- stacks that changed since the previous snapshot; 'peak' and 'end' have all live stacks
  snapshot_id INTEGER NOT NULL,         -- the snapshot
  backtrace_id INTEGER NOT NULL,        -- stack that allocated the blocks
  live_bytes INTEGER NOT NULL,          -- requested; 0: all blocks were freed
  live_blocks INTEGER NOT NULL,         -- 0: all blocks were freed
  PRIMARY KEY (snapshot_id, backtrace_id)) STRICT, WITHOUT ROWID;

CREATE TABLE size_classes (     -- totals by size of block; from_bytes and to_bytes are both inside the class
  process_id INTEGER NOT NULL,          -- the process
  from_bytes INTEGER NOT NULL,          -- smallest request of the class
  to_bytes INTEGER NOT NULL,            -- largest request of the class
  allocated_blocks INTEGER NOT NULL,    -- allocated
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  leaked_blocks INTEGER NOT NULL,       -- of them, never freed
  leaked_bytes INTEGER NOT NULL,        -- their requested bytes
  temporary_blocks INTEGER NOT NULL,    -- of them, temporary
  slack_bytes INTEGER NOT NULL,         -- usable minus requested, of all allocated
  PRIMARY KEY (process_id, from_bytes)
) STRICT, WITHOUT ROWID;
CREATE TABLE lifetime_classes ( -- freed blocks by lifetime; to_ns is outside the class
  process_id INTEGER NOT NULL,          -- the process
  from_ns INTEGER NOT NULL,             -- shortest lifetime of the class
  to_ns INTEGER NOT NULL,               -- shortest lifetime that is too long for the class
  blocks INTEGER NOT NULL,              -- freed after such a lifetime
  bytes INTEGER NOT NULL,               -- their requested bytes
  PRIMARY KEY (process_id, from_ns)) STRICT, WITHOUT ROWID;
CREATE TABLE chain_totals (     -- realloc_chains by the stack where they began
  process_id INTEGER NOT NULL,          -- the process
  first_backtrace_id INTEGER NOT NULL,  -- stack that allocated the first member
  chains INTEGER NOT NULL,              -- at least 1
  reallocs INTEGER NOT NULL,            -- blocks after the first
  moves INTEGER NOT NULL,               -- reallocs that changed the address
  copied_bytes INTEGER NOT NULL,        -- bytes that these moves copied
  longest INTEGER NOT NULL,             -- number of blocks in the longest chain
  first_bytes INTEGER NOT NULL,         -- requested bytes of the first blocks
  last_bytes INTEGER NOT NULL,          -- requested bytes of the last blocks
  leaked_chains INTEGER NOT NULL,       -- chains whose last member leaked
  PRIMARY KEY (process_id, first_backtrace_id)) STRICT, WITHOUT ROWID;
CREATE TABLE thread_flows (     -- threads that free the blocks of each thread, including its own
  process_id INTEGER NOT NULL,          -- process of both
  thread_id INTEGER NOT NULL,           -- thread that allocated
  free_thread_id INTEGER NOT NULL,      -- thread that freed, by free or realloc; 0: any other thread, in a log of --aggregate, which distinguishes 32
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- their requested bytes
  PRIMARY KEY (process_id, thread_id, free_thread_id)) STRICT, WITHOUT ROWID;

-- The totals above by call site or file, for reports. At the end of an import, each of these tables is filled from
-- the view of the same name with an underscore in front.

CREATE TABLE site_totals (      -- backtrace_totals summed by call site
  process_id INTEGER NOT NULL,                           -- the process
  call_site_id INTEGER,                                  -- call site; NULL: stacks without one
  stacks INTEGER NOT NULL,                               -- distinct stacks that allocated
  complete_blocks INTEGER,                               -- allocated with a complete stack; NULL: none
  allocated_blocks INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  freed_blocks INTEGER NOT NULL, freed_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  temporary_blocks INTEGER NOT NULL, temporary_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  peak_blocks INTEGER NOT NULL, peak_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  own_peak_bytes INTEGER NOT NULL,                       -- sum of the own peaks of the stacks, which need not occur at the same time
  slack_bytes INTEGER NOT NULL, lifetime_sum_ns REAL NOT NULL, -- as in backtrace_totals, summed
  realloc_count INTEGER NOT NULL, realloc_copied_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  elided_blocks INTEGER NOT NULL, elided_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  allocated_blocks_margin REAL, allocated_bytes_margin REAL, -- as in backtrace_totals, for the sums
  leaked_blocks_margin REAL, leaked_bytes_margin REAL,   -- as in backtrace_totals, for the sums
  peak_blocks_margin REAL, peak_bytes_margin REAL        -- as in backtrace_totals, for the sums
) STRICT;
CREATE TABLE site_leaks (       -- leaks by call site and rule; blocks that were lost at an exec are not leaks
  process_id INTEGER NOT NULL,                           -- the process
  call_site_id INTEGER,                                  -- call site; NULL: stacks without one
  rule_id INTEGER,                                       -- joins suppressions; NULL: stacks that match no rule
  stacks INTEGER NOT NULL,                               -- number of stacks with such leaks
  allocated_blocks INTEGER NOT NULL,                     -- all blocks of these stacks
  leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL, -- blocks that were never freed, and their requested bytes
  leaked_first_ns INTEGER NOT NULL, leaked_last_ns INTEGER NOT NULL, -- when the first and the last of them were allocated
  pattern TEXT,                                          -- how they came over time: see site_shapes; 'once': one block; NULL: less than half of the time was recorded
  leaked_blocks_margin REAL, leaked_bytes_margin REAL    -- as in backtrace_totals, for the sums
) STRICT;
CREATE TABLE site_frees (       -- the call site that freed most blocks of a call site: of its stacks that leak, and of its other stacks
  process_id INTEGER NOT NULL,                           -- process of both
  call_site_id INTEGER,                                  -- call site that allocated them; NULL: stacks without one
  is_leaking INTEGER NOT NULL,                           -- 1: blocks of the stacks that leak; 0: of stacks that free all of theirs
  free_call_site_id INTEGER NOT NULL,                    -- call site that freed most of them
  blocks INTEGER NOT NULL                                -- number of blocks that it freed
) STRICT;
CREATE TABLE suppressed_stacks ( -- leaking stacks that match a suppression rule
  process_id INTEGER NOT NULL,                           -- the process
  backtrace_id INTEGER NOT NULL,                         -- stack that allocated the leaked blocks
  rule_id INTEGER NOT NULL,                              -- first rule of the importer that matches; joins suppressions
  PRIMARY KEY (process_id, backtrace_id)) STRICT, WITHOUT ROWID;
CREATE TABLE module_totals (    -- function_totals for files of code; self: the call site is in this file
  process_id INTEGER NOT NULL, object_id INTEGER NOT NULL, -- process that ran the code, and the file
  self_allocated_blocks INTEGER NOT NULL, self_allocated_bytes INTEGER NOT NULL, self_leaked_bytes INTEGER NOT NULL, self_peak_bytes INTEGER NOT NULL, self_temporary_blocks INTEGER NOT NULL, -- blocks whose call site is in this file: allocated, leaked, live at the peak, temporary
  total_allocated_blocks INTEGER NOT NULL, total_allocated_bytes INTEGER NOT NULL, total_leaked_bytes INTEGER NOT NULL, total_peak_bytes INTEGER NOT NULL, total_temporary_blocks INTEGER NOT NULL, -- blocks with this file anywhere on the stack: allocated, leaked, live at the peak, temporary
  self_allocated_blocks_margin REAL, self_allocated_bytes_margin REAL, self_leaked_bytes_margin REAL, self_peak_bytes_margin REAL, -- as in function_totals
  total_allocated_blocks_margin REAL, total_allocated_bytes_margin REAL, total_leaked_bytes_margin REAL, total_peak_bytes_margin REAL, -- as in function_totals
  PRIMARY KEY (process_id, object_id)) STRICT, WITHOUT ROWID;
CREATE TABLE snapshot_sites (   -- changes of live bytes by call site, from one regular snapshot to the next, and to the end
  snapshot_id INTEGER NOT NULL,                          -- the snapshot
  call_site_id INTEGER,                                  -- call site that allocated the blocks; NULL: stacks without one
  change_bytes INTEGER NOT NULL                          -- change of live bytes since the previous snapshot
) STRICT;
CREATE TABLE site_leak_times (  -- leaked_allocations by call site and rule; blocks that were lost at an exec are not leaks
  process_id INTEGER NOT NULL, call_site_id INTEGER,     -- process and call site; NULL: stacks without one
  rule_id INTEGER,                                       -- joins suppressions; NULL: stacks that match no rule
  part INTEGER NOT NULL,                                 -- 0 to 63, as in leaked_allocations
  blocks INTEGER NOT NULL,                               -- allocated in it
  bytes INTEGER NOT NULL                                 -- their requested bytes; if all blocks of a stack in this part have 0 bytes, each counts as 1
) STRICT;
CREATE TABLE site_shapes (      -- the pattern in which the leaks, or the live bytes, of a call site came over time
  curve TEXT NOT NULL,                                   -- 'leaks': allocations of leaked blocks; 'growth': live bytes below which no later snapshot falls
  process_id INTEGER NOT NULL, call_site_id INTEGER,     -- process and call site; NULL: stacks without one
  rule_id INTEGER,                                       -- joins suppressions; NULL: stacks that match no rule
  pattern TEXT,                                          -- 'steady', 'late', 'burst', 'plateau' or 'saw tooth': see the view _site_shapes; NULL: less than half of the time was recorded
  rise_bytes REAL,                                       -- bytes that came to stay between the next two times; NULL: curve is 'leaks'
  since_ns INTEGER, until_ns INTEGER                     -- times of the snapshots by which one tenth and nine tenths had come; of a saw tooth, of its first and last bottom; NULL: curve is 'leaks'
) STRICT;
CREATE TABLE site_growth (      -- call sites whose live bytes changed between regular snapshots
  process_id INTEGER NOT NULL, call_site_id INTEGER,     -- process and call site; NULL: stacks without one
  snapshots INTEGER NOT NULL,                            -- number of regular snapshots of the process, without those of its teardown (the view _growth_range)
  from_bytes INTEGER NOT NULL, to_bytes INTEGER NOT NULL, -- live bytes at the first and at the last of them
  pattern TEXT,                                          -- how they rose: see site_shapes; NULL: they did not rise, or less than half of the time was recorded
  since_ns INTEGER, until_ns INTEGER,                    -- when one tenth and nine tenths of the rise were reached; of a saw tooth, times of its first and last bottom
  bytes_per_s REAL,                                      -- per second of recorded time between these two times; NULL: they are less than a tenth of the analysis range apart, too close for a rate
  grown_bytes_margin REAL                                -- half of the width of the 95 % interval of to_bytes - from_bytes; NULL: they are exact
) STRICT;
