-- Code: objects, frames, functions, lines, the stack tree, and the call sites.

CREATE TABLE objects (          -- an ELF file, one row for all processes and paths that map it
  object_id  INTEGER PRIMARY KEY,       -- 1, 2, …
  path       TEXT NOT NULL,             -- path of its first mapping; empty: not known
  build_id   TEXT,                      -- lower-case hex
  architecture TEXT,                    -- values as in processes.architecture
  debug_path TEXT,                      -- file with the line information; NULL: none was found
  debug_note TEXT                       -- why lines are missing, and what to do about it
) STRICT;

CREATE TABLE modules (          -- an object that is mapped into a process
  module_id    INTEGER PRIMARY KEY,     -- 1, 2, …
  process_id   INTEGER NOT NULL,        -- process that mapped it
  object_id    INTEGER NOT NULL,        -- object that was mapped
  load_address INTEGER NOT NULL,        -- address in the process minus ELF virtual address
  size_bytes   INTEGER,                 -- from the first to the last mapped byte
  seen_ns      INTEGER,                 -- when its code was first on a stack; it was mapped then or before
  unloaded_ns  INTEGER,                 -- NULL: mapped to the end, or unloaded and loaded again too often for each time to be recorded
  mapped_path  TEXT                     -- path of this mapping; copies of one file have one object and several paths
) STRICT;

CREATE TABLE object_parts (     -- parts of an object's file that the log holds: headers and symbol tables, for names when the file no longer exists
  object_id   INTEGER NOT NULL,         -- object of the file
  file_offset INTEGER NOT NULL,         -- offset of the first byte
  bytes       BLOB NOT NULL,            -- bytes of the file
  PRIMARY KEY (object_id, file_offset)
) STRICT, WITHOUT ROWID;

CREATE TABLE frames (           -- a distinct code position, shared by all processes
  frame_id      INTEGER PRIMARY KEY,    -- 1, 2, …
  object_id     INTEGER,                -- NULL: code outside any file (JIT), and object_offset is the address
  object_offset INTEGER NOT NULL,       -- ELF virtual address inside the object
  is_exact      INTEGER NOT NULL        -- 1: interrupted pc; 0: return address, looked up inside the call: one byte before it, on MIPS eight bytes
) STRICT;

CREATE TABLE functions (
  function_id INTEGER PRIMARY KEY,      -- 1, 2, …
  name        TEXT NOT NULL,            -- demangled; 'git+0x1d7c00': a function without a symbol, by its file and its start
  raw_name    TEXT NOT NULL             -- as in the symbol table
) STRICT;

CREATE TABLE sources (
  source_id INTEGER PRIMARY KEY,        -- 1, 2, …
  path      TEXT NOT NULL               -- normalized; absolute where the debug information says so
) STRICT;

CREATE TABLE frame_lines (      -- positions of a frame; every frame has level 0, even if nothing is known about it
  frame_id      INTEGER NOT NULL,       -- frame of the position
  inline_level  INTEGER NOT NULL,       -- 0 innermost
  function_id   INTEGER,                -- NULL: no symbol covers it, and the start of the function is not known
  source_id     INTEGER,                -- NULL: no line information
  line          INTEGER,                -- from 1; NULL: no line information
  column_number INTEGER,                -- from 1; NULL: not known
  PRIMARY KEY (frame_id, inline_level)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_sites (       -- the place in the user's own code that is responsible for an allocation
  call_site_id INTEGER PRIMARY KEY,     -- 1, 2, …
  function_id  INTEGER,                 -- NULL: no symbol covers it
  source_id    INTEGER,                 -- NULL: no line information
  line         INTEGER,                 -- from 1; NULL: no line information
  object_id    INTEGER,                 -- NULL: code outside any file
  object_offset INTEGER                 -- offset of the call if neither function nor source is known; else NULL
) STRICT;

CREATE TABLE backtraces (       -- a node of the stack tree = a distinct stack, shared by all processes; preorder ids
  backtrace_id        INTEGER PRIMARY KEY, -- 1, 2, … in preorder: callees follow their caller
  parent_backtrace_id INTEGER,          -- the caller's stack; NULL at the root
  last_descendant_id  INTEGER NOT NULL, -- the subtree is backtrace_id BETWEEN backtrace_id AND last_descendant_id
  frame_id            INTEGER NOT NULL, -- innermost frame
  depth               INTEGER NOT NULL, -- physical frames, 1 at the root
  call_site_id        INTEGER,          -- innermost position that no rule of call_site_rules skips; if all are skipped, the innermost
  status              TEXT NOT NULL     -- 'complete', 'truncated', 'guessed'
) STRICT;

CREATE TABLE call_site_rules (  -- code that is skipped when mtrace looks for a call site: allocators, operator new, libc, std::, alloc::, …
  rule    INTEGER PRIMARY KEY,          -- 1, 2, …; the order has no meaning
  target  TEXT NOT NULL,                -- 'function', 'object', 'source' or 'api_function': a function that is skipped if another object calls it
  pattern TEXT NOT NULL                 -- GLOB
) STRICT;

CREATE TABLE skipped_code (     -- code that a rule of call_site_rules matches, or a wrapper without a name, so that it is not a call site
  target TEXT NOT NULL,                 -- 'function', 'object', 'source' or 'api_function'
  id     INTEGER NOT NULL,              -- function_id, object_id or source_id
  PRIMARY KEY (target, id)
) STRICT, WITHOUT ROWID;

CREATE VIEW stack_frames(       -- a stack with names, one row per position; use WHERE backtrace_id = … ORDER BY frame, inline_level: the innermost is first
  backtrace_id,  -- the stack
  frame,         -- 0 innermost
  inline_level,  -- 0 innermost; inlined calls are further positions of one frame
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

CREATE VIEW stack_texts(        -- a stack as one text, for spreadsheets and line tools; use WHERE backtrace_id = …, or join a few stacks
  backtrace_id,  -- joins backtraces and every report by stack
  depth,         -- physical frames; inlined calls are additional positions
  status,        -- 'complete', 'truncated', 'guessed'
  stack          -- positions from the innermost to the outermost, with ' < ' between them: function source:line, or module+offset without symbols
) AS
  SELECT b.backtrace_id, b.depth, b.status,
         (SELECT group_concat(position, ' < ')
          FROM (SELECT coalesce(f.function, replace(f.module, rtrim(f.module, replace(f.module, '/', '')), '') || printf(iif((SELECT value FROM meta WHERE key = 'names') IS 'recording', ' 0x%x', '+0x%x'), f.object_offset),
                                printf('0x%x', f.object_offset)) || coalesce(' ' || f.source || coalesce(':' || f.line, ''), '') AS position
                FROM stack_frames f WHERE f.backtrace_id = b.backtrace_id ORDER BY f.frame, f.inline_level))
  FROM backtraces b;
