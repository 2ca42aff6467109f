-- Totals: what the canned views read.

-- Made at import, rebuildable from the events, keyed by process first; small, so every canned view answers at once.
-- allocated = freed + leaked, in blocks and bytes: freed is whatever ended, by free, by realloc or unseen. Only a process that
-- ended in exec has blocks that are neither.

CREATE TABLE backtrace_totals (
  process_id INTEGER NOT NULL, backtrace_id INTEGER NOT NULL,
  allocated_blocks INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL,
  freed_blocks INTEGER NOT NULL, freed_bytes INTEGER NOT NULL,
  leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL,
  leaked_first_ns INTEGER, leaked_last_ns INTEGER,       -- birth of the first and last leaked block
  temporary_blocks INTEGER NOT NULL, temporary_bytes INTEGER NOT NULL,   -- intervening_allocations <= 1
  peak_blocks INTEGER NOT NULL, peak_bytes INTEGER NOT NULL,             -- live at the process's peak
  own_peak_bytes INTEGER NOT NULL, own_peak_ns INTEGER NOT NULL,
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,   -- birth of the first and last block
  min_size_bytes INTEGER NOT NULL, max_size_bytes INTEGER NOT NULL,
  slack_bytes INTEGER NOT NULL,                          -- summed over all blocks
  lifetime_sum_ns INTEGER NOT NULL,                      -- of freed blocks, culled ones left out
  chains_started INTEGER NOT NULL, chains_leaked INTEGER NOT NULL,       -- chains, single blocks included, whose first member was born here
  realloc_count INTEGER NOT NULL, realloc_copied_bytes INTEGER NOT NULL, -- blocks born here by realloc of another; min(old, new) of those that moved
  culled_blocks INTEGER NOT NULL, culled_bytes INTEGER NOT NULL,         -- logged only as counts; included in allocated and freed
  PRIMARY KEY (process_id, backtrace_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE function_totals (  -- recursion counted once; self: the call site is in this function
  process_id INTEGER NOT NULL, function_id INTEGER NOT NULL,
  self_allocated_blocks INTEGER NOT NULL, self_allocated_bytes INTEGER NOT NULL, self_leaked_bytes INTEGER NOT NULL, self_peak_bytes INTEGER NOT NULL, self_temporary_blocks INTEGER NOT NULL,
  total_allocated_blocks INTEGER NOT NULL, total_allocated_bytes INTEGER NOT NULL, total_leaked_bytes INTEGER NOT NULL, total_peak_bytes INTEGER NOT NULL, total_temporary_blocks INTEGER NOT NULL,
  PRIMARY KEY (process_id, function_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE free_sites (process_id INTEGER NOT NULL, backtrace_id INTEGER NOT NULL, free_backtrace_id INTEGER NOT NULL, blocks INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (process_id, backtrace_id, free_backtrace_id)) STRICT, WITHOUT ROWID; -- who frees what is born there; by free only

CREATE TABLE timeline (process_id INTEGER NOT NULL, bucket INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  live_bytes INTEGER NOT NULL, live_blocks INTEGER NOT NULL,             -- at end_ns
  peak_bytes INTEGER NOT NULL, low_bytes INTEGER NOT NULL,               -- inside the bucket
  allocated_blocks INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL, freed_blocks INTEGER NOT NULL, freed_bytes INTEGER NOT NULL,
  PRIMARY KEY (process_id, bucket)) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (snapshot_id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL, at_ns INTEGER NOT NULL, reason TEXT NOT NULL) STRICT; -- 'peak', 'end', 'regular' (up to 64)
CREATE TABLE snapshot_backtraces (snapshot_id INTEGER NOT NULL, backtrace_id INTEGER NOT NULL, live_bytes INTEGER NOT NULL, live_blocks INTEGER NOT NULL,
  PRIMARY KEY (snapshot_id, backtrace_id)) STRICT, WITHOUT ROWID;        -- stacks that changed since the one before; 'peak' and 'end' are complete

CREATE TABLE size_classes (process_id INTEGER NOT NULL, from_bytes INTEGER NOT NULL, to_bytes INTEGER NOT NULL, allocated_blocks INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL,
  leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL, temporary_blocks INTEGER NOT NULL, slack_bytes INTEGER NOT NULL, PRIMARY KEY (process_id, from_bytes)) STRICT, WITHOUT ROWID;
-- from_bytes and to_bytes are both inside the class.
CREATE TABLE lifetime_classes (process_id INTEGER NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL, blocks INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (process_id, from_ns)) STRICT, WITHOUT ROWID;              -- freed blocks; to_ns is outside the class
CREATE TABLE chain_totals (process_id INTEGER NOT NULL, first_backtrace_id INTEGER NOT NULL, -- realloc_chains by the stack where they began
  chains INTEGER NOT NULL, reallocs INTEGER NOT NULL,                    -- reallocs: blocks after the first
  moves INTEGER NOT NULL, copied_bytes INTEGER NOT NULL, longest INTEGER NOT NULL, -- longest: blocks of the longest chain
  first_bytes INTEGER NOT NULL, last_bytes INTEGER NOT NULL,             -- summed over the chains
  leaked_chains INTEGER NOT NULL,
  PRIMARY KEY (process_id, first_backtrace_id)) STRICT, WITHOUT ROWID;
CREATE TABLE thread_flows (process_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, free_thread_id INTEGER NOT NULL, blocks INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (process_id, thread_id, free_thread_id)) STRICT, WITHOUT ROWID; -- which thread ends whose blocks, its own included

-- Of the totals above, by the place that a person blames: what reports by call site and by file read. Each is made, at the
-- end of an import, of the view of the same name with an underscore in front.

CREATE TABLE site_totals (      -- backtrace_totals summed by call site
  process_id INTEGER NOT NULL,
  call_site_id INTEGER,                                  -- NULL: stacks without one
  stacks INTEGER NOT NULL,                               -- distinct stacks that allocated
  complete_blocks INTEGER,                               -- allocated with a complete stack; NULL: none
  allocated_blocks INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL,
  freed_blocks INTEGER NOT NULL, freed_bytes INTEGER NOT NULL,
  leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL,
  temporary_blocks INTEGER NOT NULL, temporary_bytes INTEGER NOT NULL,
  peak_blocks INTEGER NOT NULL, peak_bytes INTEGER NOT NULL,
  own_peak_bytes INTEGER NOT NULL,                       -- sum of the stacks' own peaks, which need not coincide
  slack_bytes INTEGER NOT NULL, lifetime_sum_ns INTEGER NOT NULL,
  realloc_count INTEGER NOT NULL, realloc_copied_bytes INTEGER NOT NULL,
  culled_blocks INTEGER NOT NULL, culled_bytes INTEGER NOT NULL) STRICT;
CREATE TABLE site_leaks (       -- leaks by call site and rule; what exec took away is no leak
  process_id INTEGER NOT NULL,
  call_site_id INTEGER,                                  -- NULL: stacks without one
  rule_id INTEGER,                                       -- joins suppressions; NULL: the stacks that no rule names
  stacks INTEGER NOT NULL, leaked_blocks INTEGER NOT NULL, leaked_bytes INTEGER NOT NULL,
  leaked_first_ns INTEGER NOT NULL, leaked_last_ns INTEGER NOT NULL) STRICT;
CREATE TABLE site_frees (       -- the call site that freed most of another's blocks
  process_id INTEGER NOT NULL, call_site_id INTEGER, free_call_site_id INTEGER NOT NULL,
  blocks INTEGER NOT NULL) STRICT;                       -- how many of them
CREATE TABLE suppressed_stacks (process_id INTEGER NOT NULL, backtrace_id INTEGER NOT NULL,
  rule_id INTEGER NOT NULL,                              -- the first rule that holds, of those the importer had; joins suppressions
  PRIMARY KEY (process_id, backtrace_id)) STRICT, WITHOUT ROWID; -- stacks with leaks that are nobody's fault
CREATE TABLE module_totals (    -- function_totals for files of code; self: the call site is in this file
  process_id INTEGER NOT NULL, object_id INTEGER NOT NULL,
  self_allocated_blocks INTEGER NOT NULL, self_allocated_bytes INTEGER NOT NULL, self_leaked_bytes INTEGER NOT NULL, self_peak_bytes INTEGER NOT NULL, self_temporary_blocks INTEGER NOT NULL,
  total_allocated_blocks INTEGER NOT NULL, total_allocated_bytes INTEGER NOT NULL, total_leaked_bytes INTEGER NOT NULL, total_peak_bytes INTEGER NOT NULL, total_temporary_blocks INTEGER NOT NULL,
  PRIMARY KEY (process_id, object_id)) STRICT, WITHOUT ROWID;
CREATE TABLE snapshot_sites (   -- regular snapshots and the end by call site: what changed since the one before
  snapshot_id INTEGER NOT NULL, call_site_id INTEGER, change_bytes INTEGER NOT NULL) STRICT;
CREATE TABLE site_growth (      -- call sites whose live bytes changed from snapshot to snapshot, the peak left out
  process_id INTEGER NOT NULL, call_site_id INTEGER,
  snapshots INTEGER NOT NULL,                            -- of the process
  changes INTEGER NOT NULL,                              -- snapshots at which the site's live bytes were others than before
  from_bytes INTEGER NOT NULL, to_bytes INTEGER NOT NULL, -- live at the first and at the last snapshot
  slope_bytes_per_s REAL,                                -- of the straight line through all snapshots
  fit REAL,                                              -- how well it explains the changes (r squared), 0 to 1
  largest_rise_bytes INTEGER NOT NULL) STRICT;           -- most that one interval added to what was never given back afterwards
