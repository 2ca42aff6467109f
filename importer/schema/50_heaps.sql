-- Heaps: who holds which page, at the peak and at the end.

-- A page is used when it holds a live byte. Overhead is inside used or free pages and counted there only once.
CREATE TABLE heaps (            -- blocks with a mapping of their own belong to no heap
  heap_id INTEGER PRIMARY KEY,          -- 1, 2, …
  process_id INTEGER NOT NULL,          -- whose
  kind TEXT NOT NULL,                   -- 'brk', 'arena', 'other' (another allocator, or unknown)
  start_address INTEGER NOT NULL,       -- lowest it ever had
  end_address INTEGER NOT NULL,         -- first byte behind the highest it ever had
  lowest_block_address INTEGER,         -- of any block ever born there
  allocator TEXT,                       -- 'glibc': header_bytes before each block are overhead, and so is what lies before the lowest one; NULL: unknown
  header_bytes INTEGER,                 -- 8, in a 32-bit program 4; NULL: unknown
  unseen_blocks TEXT                    -- that may lie in it without a row, so that nobody knows what is free: 'inherited' (from before the fork, or the attach), 'untracked' (born while the process was not recorded); NULL: none
) STRICT;

CREATE TABLE heap_extents (     -- how far a heap reached, when that was seen to change
  heap_id INTEGER NOT NULL,             -- the heap
  at_ns INTEGER NOT NULL,               -- since when
  end_address INTEGER NOT NULL,         -- the first byte behind it
  PRIMARY KEY (heap_id, at_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE heap_states (      -- the six parts sum to extent_bytes; of a heap with unseen_blocks all but the first three are NULL
  snapshot_id INTEGER NOT NULL,         -- of the peak or the end
  heap_id INTEGER NOT NULL,             -- the heap
  extent_bytes INTEGER NOT NULL,        -- from the heap's start to its end at that time as far as it was sampled, else to its topmost live block
  live_bytes INTEGER NOT NULL,          -- requested
  slack_bytes INTEGER NOT NULL,         -- usable minus requested
  overhead_bytes INTEGER,               -- the allocator's headers and its own structures, where known
  hole_bytes INTEGER,                   -- free bytes in pages that hold a live byte
  free_page_bytes INTEGER,              -- wholly free pages below the topmost live block
  top_bytes INTEGER,                    -- wholly free pages above the topmost live block: trimmable
  topmost_allocation_id INTEGER,        -- the block that blocks trimming, and its stack
  topmost_backtrace_id INTEGER,         -- where that block was allocated; NULL: nothing is live
  pages_to_25 INTEGER DEFAULT 0,        -- used pages whose live blocks' usable bytes are less than a quarter of the page
  pages_to_50 INTEGER DEFAULT 0,        -- at least a quarter and less than a half
  pages_to_75 INTEGER DEFAULT 0,        -- at least a half and less than three quarters
  pages_to_100 INTEGER DEFAULT 0,       -- the rest
  PRIMARY KEY (snapshot_id, heap_id)) STRICT, WITHOUT ROWID;

CREATE TABLE heap_pages (       -- pages that hold a live byte; a live extent is [address, address + usable); pages that one block fills are one row
  snapshot_id INTEGER NOT NULL,         -- of the peak or the end
  page_address INTEGER NOT NULL,        -- of its first byte
  page_count INTEGER NOT NULL,          -- 1; more when one block fills so many from there on
  heap_id INTEGER NOT NULL,             -- that it belongs to
  usable_bytes INTEGER NOT NULL,        -- of live blocks on this page, or these pages
  live_blocks INTEGER NOT NULL,         -- with a byte on this page
  owner_backtrace_id INTEGER,           -- set when exactly one stack owns every live block of the page: it pins the page; NULL also where a heap has unseen_blocks
  example_allocation_id INTEGER,        -- one of its live blocks
  PRIMARY KEY (snapshot_id, page_address)) STRICT, WITHOUT ROWID;

CREATE TABLE heap_pins (        -- pages whose live blocks may all have one call site, by stack
  snapshot_id INTEGER NOT NULL,          -- joins snapshots
  backtrace_id INTEGER NOT NULL,         -- of a block in these pages
  common_frames INTEGER NOT NULL,        -- 0: all their live blocks have this stack; else stacks that share this many innermost frames
  pages INTEGER NOT NULL,                -- how many
  usable_bytes INTEGER NOT NULL,         -- of the live blocks in these pages
  emptiest_usable_bytes INTEGER NOT NULL, -- of the page with fewest, the lowest of them
  example_allocation_id INTEGER NOT NULL, -- a block in that page
  PRIMARY KEY (snapshot_id, backtrace_id, common_frames)) STRICT, WITHOUT ROWID;
