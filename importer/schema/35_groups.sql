-- Groups: the entities to which the program charges its memory, and the times that it names (mtrace.h).

CREATE TABLE allocation_groups ( -- groups made by mtrace_group_register and _intern; empty if the program has none
  group_id INTEGER PRIMARY KEY,         -- 0: untracked; 1: root, when no scope was open; 2, 3, …: groups of the program
  name TEXT NOT NULL                    -- chosen by the program
) STRICT;

CREATE TABLE allocation_group_tags (
  group_id INTEGER NOT NULL,            -- joins allocation_groups
  key TEXT NOT NULL,                    -- chosen by the program
  value TEXT NOT NULL,                  -- chosen by the program
  PRIMARY KEY (group_id, key, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE group_rows (       -- private: allocations that were charged to a group other than the root, or freed in one
  allocation_id INTEGER PRIMARY KEY,    -- the allocation
  group_id      INTEGER NOT NULL,       -- group to which it was charged last
  free_group_id INTEGER                 -- group of the freeing thread; NULL: not freed by a call
) STRICT;

CREATE TABLE group_moves (      -- blocks that mtrace_move charged to another group; empty if blocks have no rows
  allocation_id INTEGER NOT NULL,       -- the block; joins allocations, whose group_id is that of the last move
  move INTEGER NOT NULL,                -- 1, 2, … in time order over all blocks
  at_ns INTEGER NOT NULL,               -- time of the move
  from_group_id INTEGER NOT NULL,       -- group to which it was charged before; for the first move, the group in which it was allocated
  group_id INTEGER NOT NULL,            -- group to which it is charged from then on
  PRIMARY KEY (allocation_id, move)
) STRICT, WITHOUT ROWID;

CREATE TABLE group_totals (     -- totals by process and group; empty if the program has no groups; allocated + moved in = freed + moved out + live
  process_id INTEGER NOT NULL,          -- process whose blocks were charged to the group
  group_id INTEGER NOT NULL,            -- joins allocation_groups
  allocated_blocks INTEGER NOT NULL,    -- allocated while their thread was in the group, elided blocks included
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  freed_blocks INTEGER NOT NULL,        -- freed while charged to it, by free, realloc or unseen
  freed_bytes INTEGER NOT NULL,         -- their requested bytes
  freed_elsewhere_blocks INTEGER NOT NULL, -- of those, freed by a thread that was in another group
  freed_elsewhere_bytes INTEGER NOT NULL, -- their requested bytes
  moved_in_blocks INTEGER NOT NULL, moved_in_bytes INTEGER NOT NULL, -- by mtrace_move from another group
  moved_out_blocks INTEGER NOT NULL, moved_out_bytes INTEGER NOT NULL, -- by mtrace_move to another group
  leaked_blocks INTEGER NOT NULL,       -- charged to it and never freed
  leaked_bytes INTEGER NOT NULL,        -- their requested bytes
  peak_bytes INTEGER NOT NULL,          -- highest sum of live bytes charged to it
  peak_ns INTEGER,                      -- first time when peak_bytes was reached; NULL: no block was ever live
  allocated_bytes_margin REAL, leaked_bytes_margin REAL, peak_bytes_margin REAL, -- half of the width of the 95 % interval of each; NULL: blocks are not samples, and the values are exact
  PRIMARY KEY (process_id, group_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag_totals (       -- as group_totals, for all groups with a tag
  process_id INTEGER NOT NULL,          -- process whose blocks were charged to the groups
  key TEXT NOT NULL,                    -- key of the tag
  value TEXT NOT NULL,                  -- value of the tag
  allocated_blocks INTEGER NOT NULL,    -- allocated while their thread was in one of the groups, elided blocks included
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  freed_blocks INTEGER NOT NULL,        -- freed while charged to one of the groups
  freed_bytes INTEGER NOT NULL,         -- their requested bytes
  freed_elsewhere_blocks INTEGER NOT NULL, -- of those, freed by a thread that was in another group
  freed_elsewhere_bytes INTEGER NOT NULL, -- their requested bytes
  moved_in_blocks INTEGER NOT NULL, moved_in_bytes INTEGER NOT NULL, -- by mtrace_move to one of the groups
  moved_out_blocks INTEGER NOT NULL, moved_out_bytes INTEGER NOT NULL, -- by mtrace_move from one of the groups
  leaked_blocks INTEGER NOT NULL,       -- never freed
  leaked_bytes INTEGER NOT NULL,        -- their requested bytes
  peak_bytes INTEGER NOT NULL,          -- highest sum of live bytes over the groups
  peak_ns INTEGER,                      -- first time when peak_bytes was reached; NULL: no block was ever live
  allocated_bytes_margin REAL, leaked_bytes_margin REAL, peak_bytes_margin REAL, -- as in group_totals
  PRIMARY KEY (process_id, key, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE group_flows (      -- groups in which the blocks of each group are freed, by free and realloc
  process_id INTEGER NOT NULL,          -- process of both
  group_id INTEGER NOT NULL,            -- group to which the blocks were charged
  free_group_id INTEGER NOT NULL,       -- group of the freeing thread
  blocks INTEGER NOT NULL,              -- at least 1
  bytes INTEGER NOT NULL,               -- their requested bytes
  PRIMARY KEY (process_id, group_id, free_group_id)) STRICT, WITHOUT ROWID;

CREATE TABLE phases (           -- phases begun by mtrace_phase_begin; numbers cover the whole process while the phase lasted
  phase_id INTEGER PRIMARY KEY,         -- 1, 2, … in order of process and begin
  process_id INTEGER NOT NULL,          -- process of the phase
  thread_id INTEGER,                    -- thread that began it; NULL: not known
  parent_phase_id INTEGER,              -- open phase that was begun last before this one; NULL: none
  depth INTEGER NOT NULL,               -- 1 if it has no parent
  name TEXT NOT NULL,                   -- chosen by the program
  start_ns INTEGER NOT NULL,            -- when it began
  end_ns INTEGER,                       -- when it ended; NULL: it lasted to the end of the process
  allocated_blocks INTEGER NOT NULL,    -- allocated in it
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  freed_blocks INTEGER NOT NULL,        -- freed in it, also if allocated before it
  freed_bytes INTEGER NOT NULL,         -- their requested bytes
  live_start_bytes INTEGER NOT NULL,    -- live bytes when it began
  live_end_bytes INTEGER NOT NULL,      -- live bytes when it ended
  peak_bytes INTEGER NOT NULL,          -- highest sum of live bytes during the phase
  leaked_blocks INTEGER NOT NULL,       -- allocated in it and never freed
  leaked_bytes INTEGER NOT NULL,        -- their requested bytes
  first_allocation_id INTEGER, last_allocation_id INTEGER -- first and last block allocated in it; blocks of other processes may lie between them; NULL: none
) STRICT;

CREATE TABLE phase_totals (     -- totals of all phases of one name, including phases for whose rows a log of --aggregate had no room
  process_id INTEGER NOT NULL,          -- process of the phases
  name TEXT,                            -- chosen by the program; NULL: all names beyond 4096
  phases INTEGER NOT NULL,              -- number of phases that began
  ended_ns INTEGER NOT NULL,            -- sum of the durations of phases that ended; overlapping phases each count
  allocated_blocks INTEGER NOT NULL,    -- allocated in them; overlapping phases each count, also in the columns below
  allocated_bytes INTEGER NOT NULL,     -- their requested bytes
  freed_blocks INTEGER NOT NULL,        -- freed in them, also if allocated before them
  freed_bytes INTEGER NOT NULL,         -- their requested bytes
  peak_bytes INTEGER NOT NULL           -- highest sum of live bytes of the process in one of them
) STRICT;
