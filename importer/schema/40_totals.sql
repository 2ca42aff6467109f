-- Totals: what the canned views read.

-- Made at import, rebuildable from the events, keyed by process first; small, so every canned view answers at once.
-- allocated = freed + leaked, in blocks and bytes: freed is whatever ended, by free, by realloc or unseen. Only a process that
-- ended in exec has blocks that are neither.
-- Where blocks are samples (processes.sample_bytes) all these are estimates of what samples stand for: a block of s bytes was drawn with
-- probability p = 1 - exp(-s / sample_bytes), so it counts as 1 / p blocks and s / p bytes. *_margin is half of the width of an
-- estimate's 95 % interval, NULL where every block was recorded; that of a sum of rows is sqrt(sum(margin * margin)). Of reallocs and
-- chains samples tell nothing but themselves; of temporary blocks nothing, they are 0.

CREATE TABLE backtrace_totals (
  process_id INTEGER NOT NULL,          -- that ran the stack
  backtrace_id INTEGER NOT NULL,        -- where the blocks were born
  allocated_blocks INTEGER NOT NULL,    -- born here, reallocs and elided ones included
  allocated_bytes INTEGER NOT NULL,     -- requested by them
  freed_blocks INTEGER NOT NULL,        -- of them ended, by free, realloc or unseen
  freed_bytes INTEGER NOT NULL,         -- requested by those
  leaked_blocks INTEGER NOT NULL,       -- of them never ended
  leaked_bytes INTEGER NOT NULL,        -- requested by those
  leaked_first_ns INTEGER, leaked_last_ns INTEGER, -- birth of the first and last leaked block
  temporary_blocks INTEGER NOT NULL, temporary_bytes INTEGER NOT NULL, -- intervening_allocations <= 1
  peak_blocks INTEGER NOT NULL, peak_bytes INTEGER NOT NULL, -- live at the process's peak
  own_peak_bytes INTEGER NOT NULL,      -- highest sum of its own live bytes; where blocks were elided it may have been higher by meta elided.most_live_bytes
  own_peak_ns INTEGER NOT NULL,         -- the first time that was reached
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, -- birth of the first and last block
  min_size_bytes INTEGER NOT NULL,      -- smallest request
  max_size_bytes INTEGER NOT NULL,      -- largest request
  slack_bytes INTEGER NOT NULL,         -- summed over all blocks
  lifetime_sum_ns REAL NOT NULL,        -- of freed blocks; exact up to 2^53
  chains_started INTEGER NOT NULL, chains_leaked INTEGER NOT NULL, -- chains, single blocks included, whose first member was born here
  realloc_count INTEGER NOT NULL, realloc_copied_bytes INTEGER NOT NULL, -- blocks born here by realloc of another; min(old, new) of those that moved
  elided_blocks INTEGER NOT NULL, elided_bytes INTEGER NOT NULL, -- logged only as counts; included in allocated and freed
  allocated_blocks_margin REAL, allocated_bytes_margin REAL, -- half of the width of the 95 % interval of allocated_blocks and allocated_bytes; NULL: they are exact
  leaked_blocks_margin REAL, leaked_bytes_margin REAL, -- the same of leaked_blocks and leaked_bytes
  peak_blocks_margin REAL, peak_bytes_margin REAL, -- the same of peak_blocks and peak_bytes
  PRIMARY KEY (process_id, backtrace_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE function_totals (  -- recursion counted once; self: the call site is in this function
  process_id INTEGER NOT NULL,          -- that ran it
  function_id INTEGER NOT NULL,         -- the function
  self_allocated_blocks INTEGER NOT NULL, -- born where it is the call site
  self_allocated_bytes INTEGER NOT NULL, -- requested by those
  self_leaked_bytes INTEGER NOT NULL,   -- of them leaked
  self_peak_bytes INTEGER NOT NULL,     -- of them live at the peak of the process
  self_temporary_blocks INTEGER NOT NULL, -- of them temporary
  total_allocated_blocks INTEGER NOT NULL, -- born with it anywhere on the stack
  total_allocated_bytes INTEGER NOT NULL, -- requested by those
  total_leaked_bytes INTEGER NOT NULL,  -- of them leaked
  total_peak_bytes INTEGER NOT NULL,    -- of them live at the peak of the process
  total_temporary_blocks INTEGER NOT NULL, -- of them temporary
  self_allocated_blocks_margin REAL, self_allocated_bytes_margin REAL, self_leaked_bytes_margin REAL, self_peak_bytes_margin REAL, -- half of the width of the 95 % intervals of these; NULL: they are exact
  total_allocated_blocks_margin REAL, total_allocated_bytes_margin REAL, total_leaked_bytes_margin REAL, total_peak_bytes_margin REAL, -- the same of the totals
  PRIMARY KEY (process_id, function_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE free_sites (       -- who frees what is born there; by free only
  process_id INTEGER NOT NULL,          -- of both
  backtrace_id INTEGER NOT NULL,        -- where they were born
  free_backtrace_id INTEGER NOT NULL,   -- where they were freed; 0: anywhere else, in a log of --aggregate, which tells 32 apart
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- requested by them
  PRIMARY KEY (process_id, backtrace_id, free_backtrace_id)) STRICT, WITHOUT ROWID;

CREATE TABLE leaked_allocations (    -- when leaked blocks were born
  process_id INTEGER NOT NULL,          -- that never freed them
  backtrace_id INTEGER NOT NULL,        -- where they were born
  part INTEGER NOT NULL,                -- of the time from the first window to the end of the last one, the process's life where all of it was recorded; it has 64 equal ones: 0 to 63
  blocks INTEGER NOT NULL,              -- born in it, at least 1
  bytes INTEGER NOT NULL,               -- requested by them
  PRIMARY KEY (process_id, backtrace_id, part)) STRICT, WITHOUT ROWID;

CREATE TABLE timeline (
  process_id INTEGER NOT NULL,          -- whose
  bucket INTEGER NOT NULL,              -- 0, 1, 2, …
  start_ns INTEGER NOT NULL,            -- included
  end_ns INTEGER NOT NULL,              -- where the next begins; of the last, the end of the process
  live_bytes INTEGER NOT NULL, live_blocks INTEGER NOT NULL, -- at end_ns
  peak_bytes INTEGER NOT NULL, low_bytes INTEGER NOT NULL, -- inside the bucket; of elided blocks: meta elided.most_live_bytes
  allocated_blocks INTEGER NOT NULL,    -- born inside the bucket
  allocated_bytes INTEGER NOT NULL,     -- requested by those
  freed_blocks INTEGER NOT NULL,        -- ended inside the bucket
  freed_bytes INTEGER NOT NULL,         -- requested by those
  leaked_blocks INTEGER NOT NULL,       -- born until end_ns and never freed
  leaked_bytes INTEGER NOT NULL,        -- requested by those
  live_bytes_margin REAL, peak_bytes_margin REAL, -- half of the width of the 95 % intervals of live_bytes and peak_bytes; NULL: they are exact
  allocated_bytes_margin REAL, freed_bytes_margin REAL, leaked_bytes_margin REAL, -- the same of these
  PRIMARY KEY (process_id, bucket)) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (        -- moments at which what every stack has live was noted
  snapshot_id INTEGER PRIMARY KEY,      -- 1, 2, …
  process_id INTEGER NOT NULL,          -- whose
  at_ns INTEGER NOT NULL,               -- all events of this instant included
  reason TEXT NOT NULL                  -- 'peak', 'end', 'regular': fewer than 128, as far apart from each other in the time that was recorded
) STRICT;
CREATE TABLE snapshot_backtraces ( -- stacks that changed since the snapshot before; 'peak' and 'end' are complete
  snapshot_id INTEGER NOT NULL,         -- the snapshot
  backtrace_id INTEGER NOT NULL,        -- where the blocks were born
  live_bytes INTEGER NOT NULL,          -- requested; 0: none any more
  live_blocks INTEGER NOT NULL,         -- 0: none any more
  PRIMARY KEY (snapshot_id, backtrace_id)) STRICT, WITHOUT ROWID;

CREATE TABLE size_classes (     -- from_bytes and to_bytes are both inside the class
  process_id INTEGER NOT NULL,          -- whose
  from_bytes INTEGER NOT NULL,          -- smallest request of the class
  to_bytes INTEGER NOT NULL,            -- largest request of the class
  allocated_blocks INTEGER NOT NULL,    -- born
  allocated_bytes INTEGER NOT NULL,     -- requested by those
  leaked_blocks INTEGER NOT NULL,       -- of them never ended
  leaked_bytes INTEGER NOT NULL,        -- requested by those
  temporary_blocks INTEGER NOT NULL,    -- of them temporary
  slack_bytes INTEGER NOT NULL,         -- usable minus requested, of all born
  PRIMARY KEY (process_id, from_bytes)
) STRICT, WITHOUT ROWID;
CREATE TABLE lifetime_classes ( -- freed blocks by lifetime; to_ns is outside the class
  process_id INTEGER NOT NULL,          -- whose
  from_ns INTEGER NOT NULL,             -- shortest lifetime of the class
  to_ns INTEGER NOT NULL,               -- the first that is longer
  blocks INTEGER NOT NULL,              -- ended after such a lifetime
  bytes INTEGER NOT NULL,               -- requested by them
  PRIMARY KEY (process_id, from_ns)) STRICT, WITHOUT ROWID;
CREATE TABLE chain_totals (     -- realloc_chains by the stack where they began
  process_id INTEGER NOT NULL,          -- whose
  first_backtrace_id INTEGER NOT NULL,  -- where the first member was allocated
  chains INTEGER NOT NULL,              -- at least 1
  reallocs INTEGER NOT NULL,            -- blocks after the first
  moves INTEGER NOT NULL,               -- reallocs that changed the address
  copied_bytes INTEGER NOT NULL,        -- by those
  longest INTEGER NOT NULL,             -- blocks of the longest chain
  first_bytes INTEGER NOT NULL,         -- requested for the first blocks
  last_bytes INTEGER NOT NULL,          -- requested for the last blocks
  leaked_chains INTEGER NOT NULL,       -- whose last member leaked
  PRIMARY KEY (process_id, first_backtrace_id)) STRICT, WITHOUT ROWID;
CREATE TABLE thread_flows (     -- which thread ends whose blocks, its own included
  process_id INTEGER NOT NULL,          -- of both
  thread_id INTEGER NOT NULL,           -- that allocated
  free_thread_id INTEGER NOT NULL,      -- that ended, by free or realloc; 0: any other, in a log of --aggregate, which tells 32 apart
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- requested by them
  PRIMARY KEY (process_id, thread_id, free_thread_id)) STRICT, WITHOUT ROWID;

CREATE TABLE range_totals (     -- blocks that were live at one end of a time range; empty in a file: `mtrace-query range` computes it, as the range is an option
  process_id INTEGER NOT NULL,          -- that allocated
  backtrace_id INTEGER NOT NULL,        -- where it allocated
  outcome TEXT NOT NULL,                -- 'freed_after': allocated in the range, freed after it; 'never_freed': allocated in it and never freed, or lost in an exec; 'allocated_before': allocated before it, freed in it
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- requested by them
  PRIMARY KEY (process_id, backtrace_id, outcome)) STRICT, WITHOUT ROWID;

-- Of the totals above, by the place that a person blames: what reports by call site and by file read. Each is made, at the
-- end of an import, of the view of the same name with an underscore in front.

CREATE TABLE site_totals (      -- backtrace_totals summed by call site
  process_id INTEGER NOT NULL,                           -- whose
  call_site_id INTEGER,                                  -- NULL: stacks without one
  stacks INTEGER NOT NULL,                               -- distinct stacks that allocated
  complete_blocks INTEGER,                               -- allocated with a complete stack; NULL: none
  allocated_blocks INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  freed_blocks INTEGER NOT NULL, freed_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  temporary_blocks INTEGER NOT NULL, temporary_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  peak_blocks INTEGER NOT NULL, peak_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  own_peak_bytes INTEGER NOT NULL,                       -- sum of the stacks' own peaks, which need not coincide
  slack_bytes INTEGER NOT NULL, lifetime_sum_ns REAL NOT NULL, -- as in backtrace_totals, summed
  realloc_count INTEGER NOT NULL, realloc_copied_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  elided_blocks INTEGER NOT NULL, elided_bytes INTEGER NOT NULL, -- as in backtrace_totals, summed
  allocated_blocks_margin REAL, allocated_bytes_margin REAL, -- as in backtrace_totals, of the sums
  leaked_blocks_margin REAL, leaked_bytes_margin REAL,   -- as in backtrace_totals, of the sums
  peak_blocks_margin REAL, peak_bytes_margin REAL        -- as in backtrace_totals, of the sums
) STRICT;
CREATE TABLE site_leaks (       -- leaks by call site and rule; what exec took away is no leak
  process_id INTEGER NOT NULL,                           -- whose
  call_site_id INTEGER,                                  -- NULL: stacks without one
  rule_id INTEGER,                                       -- joins suppressions; NULL: the stacks that no rule names
  stacks INTEGER NOT NULL,                               -- with such leaks
  leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL, -- never ended, and requested by those
  leaked_first_ns INTEGER NOT NULL, leaked_last_ns INTEGER NOT NULL, -- birth of the first and last of them
  pattern TEXT,                                          -- how they came over time: see site_shapes; 'once': one block; NULL: less than half of the time was recorded
  leaked_blocks_margin REAL, leaked_bytes_margin REAL    -- as in backtrace_totals, of the sums
) STRICT;
CREATE TABLE site_frees (       -- the call site that freed most of another's blocks
  process_id INTEGER NOT NULL,                           -- of both
  call_site_id INTEGER,                                  -- where they were born; NULL: stacks without one
  free_call_site_id INTEGER NOT NULL,                    -- where most of them were freed
  blocks INTEGER NOT NULL                                -- how many of them
) STRICT;
CREATE TABLE suppressed_stacks ( -- stacks with leaks that are nobody's fault
  process_id INTEGER NOT NULL,                           -- whose
  backtrace_id INTEGER NOT NULL,                         -- where the leaks were born
  rule_id INTEGER NOT NULL,                              -- the first rule that holds, of those the importer had; joins suppressions
  PRIMARY KEY (process_id, backtrace_id)) STRICT, WITHOUT ROWID;
CREATE TABLE module_totals (    -- function_totals for files of code; self: the call site is in this file
  process_id INTEGER NOT NULL, object_id INTEGER NOT NULL, -- that ran it, and the file
  self_allocated_blocks INTEGER NOT NULL, self_allocated_bytes INTEGER NOT NULL, self_leaked_bytes INTEGER NOT NULL, self_peak_bytes INTEGER NOT NULL, self_temporary_blocks INTEGER NOT NULL, -- born where the call site is in it, and what became of them
  total_allocated_blocks INTEGER NOT NULL, total_allocated_bytes INTEGER NOT NULL, total_leaked_bytes INTEGER NOT NULL, total_peak_bytes INTEGER NOT NULL, total_temporary_blocks INTEGER NOT NULL, -- born with it anywhere on the stack, and what became of them
  self_allocated_blocks_margin REAL, self_allocated_bytes_margin REAL, self_leaked_bytes_margin REAL, self_peak_bytes_margin REAL, -- as in function_totals
  total_allocated_blocks_margin REAL, total_allocated_bytes_margin REAL, total_leaked_bytes_margin REAL, total_peak_bytes_margin REAL, -- as in function_totals
  PRIMARY KEY (process_id, object_id)) STRICT, WITHOUT ROWID;
CREATE TABLE snapshot_sites (   -- regular snapshots and the end by call site: what changed since the one before
  snapshot_id INTEGER NOT NULL,                          -- the snapshot
  call_site_id INTEGER,                                  -- where the blocks were born; NULL: stacks without one
  change_bytes INTEGER NOT NULL                          -- of what is live since the snapshot before
) STRICT;
CREATE TABLE site_births (      -- leaked_allocations by call site and rule; what exec took away is no leak
  process_id INTEGER NOT NULL, call_site_id INTEGER,     -- whose; NULL: stacks without one
  rule_id INTEGER,                                       -- joins suppressions; NULL: the stacks that no rule names
  part INTEGER NOT NULL,                                 -- 0 to 63, as in leaked_allocations
  blocks INTEGER NOT NULL,                               -- born in it
  bytes INTEGER NOT NULL                                 -- requested by them; 1 for each of a stack none of whose blocks in it asked for more
) STRICT;
CREATE TABLE site_shapes (      -- the word for how the leaks, or the live bytes, of a call site came over time
  curve TEXT NOT NULL,                                   -- 'leaks': births of leaked blocks; 'growth': what no later snapshot falls below
  process_id INTEGER NOT NULL, call_site_id INTEGER,     -- whose; NULL: stacks without one
  rule_id INTEGER,                                       -- joins suppressions; NULL: the stacks that no rule names
  pattern TEXT,                                          -- 'steady', 'late', 'burst', 'plateau' or 'saw tooth': see the view _site_shapes; NULL: less than half of the time was recorded
  stays_bytes INTEGER NOT NULL,                          -- all that came to stay; a leaked block of no bytes counts as one
  since_ns INTEGER, until_ns INTEGER                     -- snapshots at which the tenth and the ninth tenth had come; NULL: of leaks
) STRICT;
CREATE TABLE site_growth (      -- call sites whose live bytes changed between regular snapshots
  process_id INTEGER NOT NULL, call_site_id INTEGER,     -- whose; NULL: stacks without one
  snapshots INTEGER NOT NULL,                            -- of the process, the peak and the end left out
  from_bytes INTEGER NOT NULL, to_bytes INTEGER NOT NULL, -- live at the first and at the last of them
  pattern TEXT,                                          -- how they rose: see site_shapes; NULL: they did not, or less than half of the time was recorded
  since_ns INTEGER, until_ns INTEGER,                    -- when the tenth and the ninth tenth of the rise was reached
  bytes_per_s REAL,                                      -- between these two instants; of recorded time; NULL: they are less than a tenth of the judged time apart, which tells no rate
  grown_bytes_margin REAL                                -- half of the width of the 95 % interval of to_bytes - from_bytes; NULL: they are exact
) STRICT;
