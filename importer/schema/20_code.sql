-- Code: objects, frames, functions, lines, the stack tree, and the places people blame.

CREATE TABLE objects (          -- an ELF file, whatever processes map it
  object_id  INTEGER PRIMARY KEY,
  path       TEXT NOT NULL,
  build_id   TEXT,              -- lower-case hex
  debug_path TEXT,              -- file that gave lines, NULL if none was found
  debug_note TEXT               -- why lines are missing and what would cure it
) STRICT;

CREATE TABLE modules (          -- an object mapped into a process for a while
  module_id    INTEGER PRIMARY KEY,
  process_id   INTEGER NOT NULL,
  object_id    INTEGER NOT NULL,
  load_address INTEGER NOT NULL,
  size_bytes   INTEGER,
  loaded_ns    INTEGER,
  unloaded_ns  INTEGER
) STRICT;

CREATE TABLE frames (           -- a distinct code position, shared by all processes
  frame_id      INTEGER PRIMARY KEY,
  object_id     INTEGER,        -- NULL: code outside any file (JIT); then object_offset is the address
  object_offset INTEGER NOT NULL, -- ELF virtual address inside the object
  is_exact      INTEGER NOT NULL  -- 1: interrupted pc; 0: return address, looked up one byte before
) STRICT;

CREATE TABLE functions (
  function_id INTEGER PRIMARY KEY,
  name        TEXT NOT NULL,    -- demangled
  raw_name    TEXT NOT NULL     -- as in the symbol table
) STRICT;

CREATE TABLE sources (
  source_id INTEGER PRIMARY KEY,
  path      TEXT NOT NULL
) STRICT;

CREATE TABLE frame_lines (      -- positions of a frame; every frame has level 0, also when nothing is known
  frame_id      INTEGER NOT NULL,
  inline_level  INTEGER NOT NULL, -- 0 innermost
  function_id   INTEGER,
  source_id     INTEGER,
  line          INTEGER,
  column_number INTEGER,
  PRIMARY KEY (frame_id, inline_level)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_sites (       -- the place in the user's own code that a person blames
  call_site_id INTEGER PRIMARY KEY,
  function_id  INTEGER,
  source_id    INTEGER,
  line         INTEGER,
  object_id    INTEGER
) STRICT;

CREATE TABLE backtraces (       -- a node of the stack tree = a distinct stack, shared by all processes; preorder ids
  backtrace_id        INTEGER PRIMARY KEY,
  parent_backtrace_id INTEGER,  -- the caller's stack; NULL at the root
  last_descendant_id  INTEGER NOT NULL, -- the subtree is backtrace_id BETWEEN backtrace_id AND last_descendant_id
  frame_id            INTEGER NOT NULL,
  depth               INTEGER NOT NULL, -- physical frames, 1 at the root
  call_site_id        INTEGER,  -- innermost position that no skip rule names (call_site_rules); else the innermost
  status              TEXT NOT NULL -- 'complete', 'truncated', 'guessed'
) STRICT;

CREATE TABLE call_site_rules (  -- what is skipped when looking for a call site: allocators, operator new, libc, std::, alloc::, …
  rule    INTEGER PRIMARY KEY,
  target  TEXT NOT NULL,        -- 'function', 'object' or 'source'
  pattern TEXT NOT NULL         -- GLOB
) STRICT;

CREATE VIEW stack_frames AS     -- a stack as people read it, innermost first; made for WHERE backtrace_id = …
  SELECT b.backtrace_id, b.depth - n.depth AS frame, l.inline_level, f.name AS function, s.path AS source, l.line, l.column_number,
         o.path AS module, fr.object_offset, n.frame_id
  FROM backtraces b
  JOIN json_each((WITH RECURSIVE up(id) AS (SELECT b.backtrace_id UNION ALL SELECT parent_backtrace_id FROM up JOIN backtraces ON backtrace_id = id WHERE parent_backtrace_id IS NOT NULL)
                  SELECT json_group_array(id) FROM up)) j
  JOIN backtraces n ON n.backtrace_id = j.value
  JOIN frames fr ON fr.frame_id = n.frame_id
  JOIN frame_lines l ON l.frame_id = n.frame_id
  LEFT JOIN functions f ON f.function_id = l.function_id
  LEFT JOIN sources s ON s.source_id = l.source_id
  LEFT JOIN objects o ON o.object_id = fr.object_id
  ORDER BY frame, l.inline_level;
