-- Heap images: what the program could still reach at one time (mtrace-record --heap-image).

CREATE TABLE heap_images (      -- one row for each image
  image_id   INTEGER PRIMARY KEY,       -- 1, 2, …
  process_id INTEGER NOT NULL,          -- process of the image
  at_ns      INTEGER NOT NULL,          -- when all threads stood still
  name       TEXT,                      -- as given by the program or by mtrace-record --ctl; NULL: none
  cause      TEXT,                      -- 'exit', 'control' (mtrace-record --ctl), 'program' (mtrace_heap_image), 'rss' (--heap-image-at-rss), 'signal', 'core'
  method     TEXT,                      -- 'stop' (memory was copied while the threads stood still), 'fork' (that of a forked child), 'core'
  rss_bytes  INTEGER,                   -- resident bytes by smaps_rollup in the same stop; NULL: not known
  pause_ns   INTEGER NOT NULL           -- for which the threads stood still
) STRICT;

CREATE TABLE roots (            -- words outside of blocks, and registers, that hold blocks on a shortest path
  root_id      INTEGER PRIMARY KEY,     -- 1, 2, …
  image_id     INTEGER NOT NULL,        -- joins heap_images
  kind         TEXT NOT NULL,           -- 'global' (data of a module), 'tls', 'mapping' (made by no allocator), 'stack', 'register', 'heap' (memory that may belong to blocks from before the recording)
  module       TEXT,                    -- path of the file; NULL: not a global
  symbol       TEXT,                    -- variable, demangled; NULL: not known
  offset_bytes INTEGER NOT NULL,        -- from the start of the symbol; without one from that of the module, stack or mapping; of a register its number
  thread_id    INTEGER,                 -- thread of a stack, register or tls; NULL: none, or no row
  function     TEXT,                    -- function whose frame has the word; NULL: not a stack, or not known
  bytes        INTEGER NOT NULL,        -- requested bytes of the blocks whose shortest path begins here
  blocks       INTEGER NOT NULL         -- number of these
) STRICT;

CREATE TABLE heap_image_blocks ( -- blocks that were live at the time of the image
  image_id      INTEGER NOT NULL,       -- joins heap_images
  allocation_id INTEGER NOT NULL,       -- joins allocations
  state_code    INTEGER NOT NULL,       -- private: state as a number
  interior_only INTEGER NOT NULL,       -- 1: reachable only through a pointer into the middle of a block
  root_id       INTEGER,                -- root of the shortest path to it; NULL: lost
  holder_allocation_id INTEGER,         -- block before it on the path; NULL: a root holds it, or it is lost
  distance      INTEGER NOT NULL,       -- number of pointers from the root, or from the lost block
  dominator_allocation_id INTEGER,      -- nearest block through which all paths from roots to it lead; NULL: none, or it is lost
  retained_bytes INTEGER,               -- its own and those of all blocks that would be lost with it; of a 'lost' block those that only it leads to; NULL: 'lost_indirect'
  state         TEXT AS (CASE state_code WHEN 0 THEN 'lost' WHEN 1 THEN 'lost_indirect' ELSE 'held' END), -- 'held': reachable; 'lost': nothing points to it; 'lost_indirect': only lost blocks point to it
  PRIMARY KEY (image_id, allocation_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE heap_image_sites ( -- blocks of heap_image_blocks by call site
  image_id      INTEGER NOT NULL,       -- joins heap_images
  call_site_id  INTEGER NOT NULL,       -- joins call_sites; 0: none
  head_bytes    INTEGER NOT NULL,       -- requested bytes of blocks that are 'lost'
  head_blocks   INTEGER NOT NULL,       -- number of these
  retained_bytes INTEGER NOT NULL,      -- of these and of the blocks that only they lead to, whatever their call site
  lost_bytes    INTEGER NOT NULL,       -- of blocks that are 'lost' or 'lost_indirect'
  held_bytes    INTEGER NOT NULL,       -- of blocks that are 'held'
  root_id       INTEGER,                -- root that holds most of these; NULL: none
  PRIMARY KEY (image_id, call_site_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE site_references ( -- pointers between blocks, by call site
  image_id      INTEGER NOT NULL,       -- joins heap_images
  from_site_id  INTEGER NOT NULL,       -- call site of the blocks with the pointers, joins call_sites; 0: none
  to_site_id    INTEGER NOT NULL,       -- call site of the blocks that they point to; 0: none
  "references"  INTEGER NOT NULL,       -- number of pointers; SQL needs the name in quotes
  PRIMARY KEY (image_id, from_site_id, to_site_id)
) STRICT, WITHOUT ROWID;
