-- Heaps: the blocks that occupy each page, at the peak and at the end.

-- A page is used if it holds a live byte. Overhead lies inside used or free pages, and is counted there only once.
CREATE TABLE heaps (            -- heaps of the allocators; blocks with a mapping of their own belong to no heap
  heap_id INTEGER PRIMARY KEY,          -- 1, 2, …
  process_id INTEGER NOT NULL,          -- process of the heap
  kind TEXT NOT NULL,                   -- 'brk', 'arena', 'other' (another allocator, or unknown)
  start_address INTEGER NOT NULL,       -- lowest address it ever had
  end_address INTEGER NOT NULL,         -- first byte after the highest address it ever had
  lowest_block_address INTEGER,         -- lowest address of any block that was allocated there
  allocator TEXT,                       -- 'glibc': header_bytes before each block are overhead, and so are the bytes before the lowest block; NULL: unknown
  header_bytes INTEGER,                 -- 8, in a 32-bit program 4; NULL: unknown
  unseen_blocks TEXT                    -- blocks without a row that may lie in it, so its free memory is not known: 'inherited' (from before the fork or attach), 'untracked' (allocated while the process was not recorded); NULL: none
) STRICT;

CREATE TABLE heap_extents (     -- end of a heap over time: one row for each change that was seen
  heap_id INTEGER NOT NULL,             -- the heap
  at_ns INTEGER NOT NULL,               -- when it was seen to end there
  end_address INTEGER NOT NULL,         -- first byte after the heap
  PRIMARY KEY (heap_id, at_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE heap_states (      -- parts of a heap at a snapshot. The six parts sum to extent_bytes; if the heap has unseen_blocks, the columns from overhead_bytes on are NULL
  snapshot_id INTEGER NOT NULL,         -- snapshot of the peak or the end
  heap_id INTEGER NOT NULL,             -- the heap
  extent_bytes INTEGER NOT NULL,        -- from the start of the heap to its end at that time if it was sampled, else to its topmost live block; an arena of glibc (kind 'arena') reaches as far as it ever did, resident or not, since glibc returns its pages without making it smaller
  live_bytes INTEGER NOT NULL,          -- requested bytes of live blocks
  slack_bytes INTEGER NOT NULL,         -- usable minus requested bytes of live blocks
  overhead_bytes INTEGER,               -- headers and own structures of the allocator, where known
  hole_bytes INTEGER,                   -- free bytes in pages that hold a live byte
  free_page_bytes INTEGER,              -- wholly free pages below the topmost live block
  top_bytes INTEGER,                    -- wholly free pages above the topmost live block: trimmable
  topmost_allocation_id INTEGER,        -- live block at the highest address, which prevents trimming
  topmost_backtrace_id INTEGER,         -- stack that allocated that block; NULL: no block is live
  pages_to_25 INTEGER DEFAULT 0,        -- used pages of which live blocks fill less than a quarter (by usable bytes)
  pages_to_50 INTEGER DEFAULT 0,        -- used pages filled to at least a quarter and less than a half
  pages_to_75 INTEGER DEFAULT 0,        -- used pages filled to at least a half and less than three quarters
  pages_to_100 INTEGER DEFAULT 0,       -- all other used pages
  PRIMARY KEY (snapshot_id, heap_id)) STRICT, WITHOUT ROWID;

CREATE TABLE heap_pages (       -- pages that hold a live byte; a block occupies [address, address + usable); consecutive pages that one block fills are one row
  snapshot_id INTEGER NOT NULL,         -- snapshot of the peak or the end
  page_address INTEGER NOT NULL,        -- of its first byte
  page_count INTEGER NOT NULL,          -- 1, or the number of consecutive pages that one block fills
  heap_id INTEGER NOT NULL,             -- heap of the page
  usable_bytes INTEGER NOT NULL,        -- usable bytes of live blocks on this page, or these pages
  live_blocks INTEGER NOT NULL,         -- live blocks with a byte on this page
  owner_backtrace_id INTEGER,           -- stack that allocated all live blocks of the page, and so pins it; NULL: there are several stacks, or the heap has unseen_blocks
  example_allocation_id INTEGER,        -- one of its live blocks
  PRIMARY KEY (snapshot_id, page_address)) STRICT, WITHOUT ROWID;

CREATE TABLE heap_pins (        -- pages whose live blocks may all have one call site, by stack
  snapshot_id INTEGER NOT NULL,          -- joins snapshots
  backtrace_id INTEGER NOT NULL,         -- stack of a block in these pages
  common_frames INTEGER NOT NULL,        -- 0: all live blocks of the pages have this stack; else their stacks share this many innermost frames
  pages INTEGER NOT NULL,                -- number of pages
  usable_bytes INTEGER NOT NULL,         -- usable bytes of the live blocks in these pages
  emptiest_usable_bytes INTEGER NOT NULL, -- usable bytes of live blocks in the emptiest page; of several such pages, the lowest
  example_allocation_id INTEGER NOT NULL, -- a block in that page
  PRIMARY KEY (snapshot_id, backtrace_id, common_frames)) STRICT, WITHOUT ROWID;
