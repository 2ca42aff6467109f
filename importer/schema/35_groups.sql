-- Groups: whom the program charged its memory to, and the times it gave names, by mtrace.h.

CREATE TABLE allocation_groups ( -- made by mtrace_group_register and _intern; empty where the program has none
  group_id INTEGER PRIMARY KEY,         -- 0 untracked, 1 root: no scope was open; 2, 3, … those of the program
  name TEXT NOT NULL                    -- as the program chose
) STRICT;

CREATE TABLE allocation_group_tags (
  group_id INTEGER NOT NULL,            -- joins allocation_groups
  key TEXT NOT NULL,                    -- as the program chose
  value TEXT NOT NULL,                  -- as the program chose
  PRIMARY KEY (group_id, key, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE group_rows (       -- private: the allocations that were charged to another group than the root, or ended in one
  allocation_id INTEGER PRIMARY KEY,    -- the allocation
  group_id      INTEGER NOT NULL,       -- the last one it was charged to
  free_group_id INTEGER                 -- NULL: not ended by a call
) STRICT;

CREATE TABLE group_moves (      -- blocks that mtrace_move charged to another group; filled where blocks have rows
  allocation_id INTEGER NOT NULL,       -- the block, joins allocations, whose group_id is that of its last move
  move INTEGER NOT NULL,                -- 1, 2, … in time order over all blocks
  at_ns INTEGER NOT NULL,               -- when
  from_group_id INTEGER NOT NULL,       -- that it was charged to before; of its first move, the one it was born in
  group_id INTEGER NOT NULL,            -- that it is charged to from then on
  PRIMARY KEY (allocation_id, move)
) STRICT, WITHOUT ROWID;

CREATE TABLE group_totals (     -- empty where the program has no groups; allocated + moved in = freed + moved out + live
  process_id INTEGER NOT NULL,          -- that was in the group
  group_id INTEGER NOT NULL,            -- joins allocation_groups
  allocated_blocks INTEGER NOT NULL,    -- born while their thread was in it, elided ones included
  allocated_bytes INTEGER NOT NULL,     -- requested by those
  freed_blocks INTEGER NOT NULL,        -- ended while charged to it, by free, realloc or unseen
  freed_bytes INTEGER NOT NULL,         -- requested by those
  freed_elsewhere_blocks INTEGER NOT NULL, -- of those, ended by a thread that was in another group
  freed_elsewhere_bytes INTEGER NOT NULL, -- requested by those
  moved_in_blocks INTEGER NOT NULL, moved_in_bytes INTEGER NOT NULL, -- by mtrace_move from another group
  moved_out_blocks INTEGER NOT NULL, moved_out_bytes INTEGER NOT NULL, -- by mtrace_move to another group
  leaked_blocks INTEGER NOT NULL,       -- charged to it and never ended
  leaked_bytes INTEGER NOT NULL,        -- requested by those
  peak_bytes INTEGER NOT NULL,          -- highest sum of live bytes charged to it
  peak_ns INTEGER,                      -- the first time that was reached; NULL: never any
  allocated_bytes_margin REAL, leaked_bytes_margin REAL, peak_bytes_margin REAL, -- half of the width of the 95 % interval of each, where blocks are samples; NULL: they are exact
  PRIMARY KEY (process_id, group_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag_totals (       -- the same for all groups with a tag
  process_id INTEGER NOT NULL,          -- that was in the groups
  key TEXT NOT NULL,                    -- of the tag
  value TEXT NOT NULL,                  -- of the tag
  allocated_blocks INTEGER NOT NULL,    -- as in group_totals, and so are the others
  allocated_bytes INTEGER NOT NULL,     -- requested by those
  freed_blocks INTEGER NOT NULL,        -- ended while charged to one of the groups
  freed_bytes INTEGER NOT NULL,         -- requested by those
  freed_elsewhere_blocks INTEGER NOT NULL, -- of those, ended by a thread that was in another group
  freed_elsewhere_bytes INTEGER NOT NULL, -- requested by those
  moved_in_blocks INTEGER NOT NULL, moved_in_bytes INTEGER NOT NULL, -- by mtrace_move to one of the groups
  moved_out_blocks INTEGER NOT NULL, moved_out_bytes INTEGER NOT NULL, -- by mtrace_move from one of the groups
  leaked_blocks INTEGER NOT NULL,       -- never ended
  leaked_bytes INTEGER NOT NULL,        -- requested by those
  peak_bytes INTEGER NOT NULL,          -- highest sum of live bytes over the groups
  peak_ns INTEGER,                      -- the first time that was reached; NULL: never any
  allocated_bytes_margin REAL, leaked_bytes_margin REAL, peak_bytes_margin REAL, -- as in group_totals
  PRIMARY KEY (process_id, key, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE group_flows (      -- in which group is freed what is charged to which; by free and realloc
  process_id INTEGER NOT NULL,          -- of both
  group_id INTEGER NOT NULL,            -- that the blocks were charged to
  free_group_id INTEGER NOT NULL,       -- that the thread was in that ended them
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- requested by them
  PRIMARY KEY (process_id, group_id, free_group_id)) STRICT, WITHOUT ROWID;

CREATE TABLE phases (           -- made by mtrace_phase_begin; figures are of the whole process while the phase lasted
  phase_id INTEGER PRIMARY KEY,         -- 1, 2, … in order of process and begin
  process_id INTEGER NOT NULL,          -- that was in it
  thread_id INTEGER,                    -- that began it; NULL: not known
  parent_phase_id INTEGER,              -- the one begun last of those that were open then; NULL: none
  depth INTEGER NOT NULL,               -- 1 without a parent
  name TEXT NOT NULL,                   -- as the program chose
  start_ns INTEGER NOT NULL,            -- when it began
  end_ns INTEGER,                       -- when it ended; NULL: with the process
  allocated_blocks INTEGER NOT NULL,    -- born in it
  allocated_bytes INTEGER NOT NULL,     -- requested by those
  freed_blocks INTEGER NOT NULL,        -- ended in it, whenever they were born
  freed_bytes INTEGER NOT NULL,         -- requested by those
  live_start_bytes INTEGER NOT NULL,    -- live when it began
  live_end_bytes INTEGER NOT NULL,      -- live when it ended
  peak_bytes INTEGER NOT NULL,          -- most live bytes meanwhile
  leaked_blocks INTEGER NOT NULL,       -- born in it and never ended
  leaked_bytes INTEGER NOT NULL,        -- requested by those
  first_allocation_id INTEGER, last_allocation_id INTEGER -- of those born in it; other processes may have some between; NULL: none
) STRICT;

CREATE TABLE phase_totals (     -- all phases of one name, those included of which a log of --aggregate had no room for rows
  process_id INTEGER NOT NULL,          -- that was in them
  name TEXT,                            -- as the program chose; NULL: all names beyond 4096
  phases INTEGER NOT NULL,              -- how many began
  ended_ns INTEGER NOT NULL,            -- that those took which ended; where they overlap, each counts
  allocated_blocks INTEGER NOT NULL,    -- born in them; where they overlap, each counts, as below
  allocated_bytes INTEGER NOT NULL,     -- requested by those
  freed_blocks INTEGER NOT NULL,        -- ended in them, whenever they were born
  freed_bytes INTEGER NOT NULL,         -- requested by those
  peak_bytes INTEGER NOT NULL           -- most live bytes of the process in one of them
) STRICT;
