-- Code: objects, frames, functions, lines, the stack tree, and the places people blame.

CREATE TABLE objects (          -- an ELF file, whatever processes map it and by whatever paths
  object_id  INTEGER PRIMARY KEY,       -- 1, 2, …
  path       TEXT NOT NULL,             -- that it was first mapped by; empty: not known
  build_id   TEXT,                      -- lower-case hex
  architecture TEXT,                    -- as processes.architecture
  debug_path TEXT,                      -- file that gave lines, NULL if none was found
  debug_note TEXT                       -- why lines are missing and what would cure it
) STRICT;

CREATE TABLE modules (          -- an object mapped into a process for a while
  module_id    INTEGER PRIMARY KEY,     -- 1, 2, …
  process_id   INTEGER NOT NULL,        -- that mapped it
  object_id    INTEGER NOT NULL,        -- what was mapped
  load_address INTEGER NOT NULL,        -- what is added to an ELF virtual address to have it in the process
  size_bytes   INTEGER,                 -- from the first to the last mapped byte
  seen_ns      INTEGER,                 -- when its code was first on a stack: it was mapped then or before
  unloaded_ns  INTEGER,                 -- NULL: mapped to the end, or unloaded and loaded again too often for each time to be told
  mapped_path  TEXT                     -- of this mapping; copies of one file have one object and several paths
) STRICT;

CREATE TABLE object_parts (     -- what the log has of an object's file: headers and symbol tables, for names when the file is gone
  object_id   INTEGER NOT NULL,         -- whose file it is
  file_offset INTEGER NOT NULL,         -- of the first byte
  bytes       BLOB NOT NULL,            -- of the file
  PRIMARY KEY (object_id, file_offset)
) STRICT, WITHOUT ROWID;

CREATE TABLE frames (           -- a distinct code position, shared by all processes
  frame_id      INTEGER PRIMARY KEY,    -- 1, 2, …
  object_id     INTEGER,                -- NULL: code outside any file (JIT); then object_offset is the address
  object_offset INTEGER NOT NULL,       -- ELF virtual address inside the object
  is_exact      INTEGER NOT NULL        -- 1: interrupted pc; 0: return address, looked up inside the call: one byte before it, on MIPS eight
) STRICT;

CREATE TABLE functions (
  function_id INTEGER PRIMARY KEY,      -- 1, 2, …
  name        TEXT NOT NULL,            -- demangled
  raw_name    TEXT NOT NULL             -- as in the symbol table
) STRICT;

CREATE TABLE sources (
  source_id INTEGER PRIMARY KEY,        -- 1, 2, …
  path      TEXT NOT NULL               -- normalized; absolute where the debug information says so
) STRICT;

CREATE TABLE frame_lines (      -- positions of a frame; every frame has level 0, also when nothing is known
  frame_id      INTEGER NOT NULL,       -- the position
  inline_level  INTEGER NOT NULL,       -- 0 innermost
  function_id   INTEGER,                -- NULL: no symbol covers it
  source_id     INTEGER,                -- NULL: no line information
  line          INTEGER,                -- from 1; NULL: no line information
  column_number INTEGER,                -- from 1; NULL: not known
  PRIMARY KEY (frame_id, inline_level)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_sites (       -- the place in the user's own code that a person blames
  call_site_id INTEGER PRIMARY KEY,     -- 1, 2, …
  function_id  INTEGER,                 -- NULL: no symbol covers it
  source_id    INTEGER,                 -- NULL: no line information
  line         INTEGER,                 -- from 1; NULL: no line information
  object_id    INTEGER,                 -- NULL: code outside any file
  object_offset INTEGER                 -- of the call, where neither function nor source is known; else NULL
) STRICT;

CREATE TABLE backtraces (       -- a node of the stack tree = a distinct stack, shared by all processes; preorder ids
  backtrace_id        INTEGER PRIMARY KEY, -- 1, 2, … in preorder: callees follow their caller
  parent_backtrace_id INTEGER,          -- the caller's stack; NULL at the root
  last_descendant_id  INTEGER NOT NULL, -- the subtree is backtrace_id BETWEEN backtrace_id AND last_descendant_id
  frame_id            INTEGER NOT NULL, -- the innermost
  depth               INTEGER NOT NULL, -- physical frames, 1 at the root
  call_site_id        INTEGER,          -- innermost position that no skip rule names (call_site_rules); else the innermost
  status              TEXT NOT NULL     -- 'complete', 'truncated', 'guessed'
) STRICT;

CREATE TABLE call_site_rules (  -- what is skipped when looking for a call site: allocators, operator new, libc, std::, alloc::, …
  rule    INTEGER PRIMARY KEY,          -- 1, 2, … in no order that matters
  target  TEXT NOT NULL,                -- 'function', 'object' or 'source'
  pattern TEXT NOT NULL                 -- GLOB
) STRICT;

CREATE TABLE skipped_code (     -- what a rule of call_site_rules names, so that it is no call site
  target TEXT NOT NULL,                 -- 'function', 'object' or 'source'
  id     INTEGER NOT NULL,              -- function_id, object_id or source_id
  PRIMARY KEY (target, id)
) STRICT, WITHOUT ROWID;

CREATE VIEW stack_frames(       -- a stack as people read it; made for WHERE backtrace_id = … ORDER BY frame, inline_level, which is innermost first
  backtrace_id,  -- the stack
  frame,         -- 0 innermost
  inline_level,  -- 0 innermost of the positions that inlining left in one frame
  function,      -- demangled name; NULL: unknown
  source,        -- path as the debug information has it; NULL: none
  line,          -- line in source
  column_number, -- column in source
  module,        -- path of the file that holds the code; NULL: code outside any file
  object_offset, -- ELF virtual address inside the module
  frame_id       -- joins frames
) AS
  SELECT b.backtrace_id, b.depth - n.depth AS frame, l.inline_level, f.name AS function, s.path AS source, l.line, l.column_number,
         o.path AS module, fr.object_offset, n.frame_id
  FROM backtraces b
  JOIN json_each((WITH RECURSIVE up(id) AS (SELECT b.backtrace_id UNION ALL SELECT parent_backtrace_id FROM up JOIN backtraces ON backtrace_id = id WHERE parent_backtrace_id < id)
                  SELECT json_group_array(id) FROM up)) j
  JOIN backtraces n ON n.backtrace_id = j.value
  JOIN frames fr ON fr.frame_id = n.frame_id
  JOIN frame_lines l ON l.frame_id = n.frame_id
  LEFT JOIN functions f ON f.function_id = l.function_id
  LEFT JOIN sources s ON s.source_id = l.source_id
  LEFT JOIN objects o ON o.object_id = fr.object_id;

CREATE VIEW stack_texts(        -- a stack as one text, for spreadsheets and line tools; made for WHERE backtrace_id = … and for joins to a few stacks
  backtrace_id,  -- joins backtraces and every report by stack
  depth,         -- physical frames; inlined calls are more positions
  status,        -- 'complete', 'truncated', 'guessed'
  stack          -- innermost position first, each with ' < ' before its caller: function source:line; without symbols module+offset
) AS
  SELECT b.backtrace_id, b.depth, b.status,
         (SELECT group_concat(position, ' < ')
          FROM (SELECT coalesce(f.function, replace(f.module, rtrim(f.module, replace(f.module, '/', '')), '') || printf(iif((SELECT value FROM meta WHERE key = 'names') IS 'recording', ' 0x%x', '+0x%x'), f.object_offset),
                                printf('0x%x', f.object_offset)) || coalesce(' ' || f.source || coalesce(':' || f.line, ''), '') AS position
                FROM stack_frames f WHERE f.backtrace_id = b.backtrace_id ORDER BY f.frame, f.inline_level))
  FROM backtraces b;
