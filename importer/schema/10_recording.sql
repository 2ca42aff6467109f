-- mtrace database, schema 1: the names that users, commands, tests and exports may rely on.
--
-- Public: every table and view below whose name has no suffix. Their column names, units and NULLs are the contract.
-- Private: tables that end in _rows. Their encoding may be changed where a measurement says so; the views above them keep their columns.
-- Units: *_ns nanoseconds on CLOCK_MONOTONIC since the start of the earliest recorded process; *_bytes bytes, requested unless
-- named usable or slack; *_address virtual addresses as integers. NULL: unknown, or did not happen; never a sentinel.
-- A key is <singular>_id; a reference has the same name, prefixed where it plays a role.
-- Works in stock sqlite3 3.40; loaded by:  cat importer/schema/*.sql | sqlite3 new.db

PRAGMA application_id = 1836348003; -- 'mtrc'
PRAGMA user_version = 1;

CREATE TABLE meta (             -- facts about the recording and the import
  -- Recording: 'collector.version', 'arch' (processes.architecture of the first), 'page_size', 'clock' ('tsc', the processor's counter, or 'monotonic'), 'pairing' ('address': a free names its block;
  --   'size_and_stack': it only says of which size and stack the block was, and the youngest such block is taken),
  --   'recorder' ('heaptrack'; no row: mtrace), 'names' ('recording': functions and lines came with it),
  --   'free_backtraces' (1: frees have stacks), 'nodes' (distinct stacks), 'segments', 'log.bytes', 'processes'.
  -- 'import.until_ns', 'import.until_marker': what --until and --until-marker were: what came later is missing.
  -- 'processes.partial': processes that were recorded late (attached to, too), or not all the time: blocks of other times are missing; 'processes.partial.<process_id>': 1 of each.
  -- 'mmaps.unlooked': pieces of anonymous mappings that ended without a look at all of their pages (too many untouched, or too many mappings).
  -- 'unseen.<executable>': the allocator ('jemalloc') that this executable has inside; blocks of it are missing in all tables.
  -- 'jemalloc (in part)': those of some of its functions. 'unseen_why.<executable>': why.
  -- Events: 'events' (read), 'events.dropped' and one of 'events.dropped.no_space', '.limit', '.nested', '.no_memory' per reason (never in the log).
  -- Damage: 'log.bytes' (of its files), 'log.lost_bytes' (of these, that could not be read), 'log.damage' (text, a line for each of the first kinds found), 'log.damage.<kind>' (how often).
  -- Anomalies: 'anomaly.unknown_free', 'anomaly.unknown_realloc' (address not live), 'anomaly.double_allocation' (born where a block was live: ended_by 3),
  --   'anomaly.clock_inversion' (repaired), 'frees.untracked' (of blocks born while tracing was off).
  -- Stacks: 'unwinder.checked', 'unwinder.mismatches' (MTRACE_UNWINDER=check);
  -- 'modules.unnamed': libraries whose code has no names, because more were loaded at once than are told apart; 'modules.unnamed.<process_id>': of one process.
  -- Import: 'mtrace.version', 'schema.version', 'slim' (1: no allocation rows), 'aggregate' (1: of a log of --aggregate: rows of blocks that are live at the end alone, beside 'slim'), 'aggregate.left_out.<kind>' (how many rows such a log had no room for: events, mappings, moves, samples of memory, extents of heaps, windows, phases, walks over objects; and of how many frees only that others made them: 'frees_by_stack', 'frees_by_thread'), 'early' (1: --follow goes on, and brings them at the end), 'lean' (1: of a live report, totals alone), 'allocations', 'import.seconds', 'symbols.seconds'.
  -- Threads: 'threads.joined.<process_id>': how many of its threads have no row of their own: beyond MTRACE_MAX_THREADS they share those called 'other threads'.
  -- Program: 'suppression.<n>' (its own rules of what is no leak, as heaptrack records them: see the view suppressions).
  -- Collector: 'message.<n>' (its diagnostics), 'setting.<NAME>' (of its environment).
  key   TEXT PRIMARY KEY,               -- one of the above
  value ANY                             -- number or text
) STRICT, WITHOUT ROWID;

CREATE TABLE processes (        -- one recorded program image: fork makes a child, exec ends one and starts another
  process_id        INTEGER PRIMARY KEY, -- 1, 2, … in order of start
  parent_process_id INTEGER,            -- NULL for the first
  pid               INTEGER NOT NULL,   -- as the kernel numbered it; an exec keeps it
  architecture      TEXT,               -- of the program: 'x86_64', 'aarch64', 'riscv64', 'mips64el'; of 4-byte words 'i386', 'arm', 'riscv32', 'mipsel', 'x32'; else 'machine ' and ELF's number; NULL: not known
  executable        TEXT,               -- path, by the name it was called with; NULL: not known
  command_line      TEXT,               -- JSON array of arguments
  start_unix_ns     INTEGER,            -- wall clock at start_ns
  start_ns          INTEGER NOT NULL,   -- of the image, or when mtrace-record was attached to it; 0 for the first
  end_ns            INTEGER NOT NULL,   -- last known instant
  duration_ns       INTEGER AS (end_ns - start_ns), -- computed
  end_kind          TEXT,               -- 'exit', 'signal', 'exec', 'detached' (the program went on without us), 'running' (at an instant that --until or --until-marker names, too), 'unseen' (the log stops before its end: it still arrives from another machine, or was cut), 'unknown' (log ends without a word: killed, or _exit by a raw system call). What is live at an exec is lost, not leaked
  end_value         INTEGER,            -- exit status or signal number
  peak_bytes        INTEGER,            -- highest sum of live requested bytes, first time it was reached
  peak_blocks       INTEGER,            -- live blocks at that instant
  peak_ns           INTEGER,            -- NULL: nothing was ever live
  max_rss_bytes     INTEGER,            -- highest resident size by the kernel's own count (ru_maxrss); NULL: not known, or of a child that it waited for or an image before an exec
  inherited_frees   INTEGER DEFAULT 0,  -- ends, by free or realloc, of blocks that were born in the parent, or before mtrace-record was attached; NULL: not known from samples
  events            INTEGER NOT NULL DEFAULT 0, -- read from its log, a realloc once
  events_dropped    INTEGER NOT NULL DEFAULT 0, -- never in the log, by its own count
  sample_bytes      INTEGER             -- blocks are samples, one byte in so many drawn: all sums of blocks and bytes are estimates; NULL: every block was recorded
) STRICT;

CREATE TABLE threads (
  thread_id  INTEGER PRIMARY KEY,       -- 1, 2, … in order of process and start
  process_id INTEGER NOT NULL,          -- that it ran in
  tid        INTEGER NOT NULL,          -- as the kernel numbered it; 0: of 'other threads', or not known
  name       TEXT,                      -- NULL: none, or it stands for all threads that the log does not name; 'other threads': those beyond MTRACE_MAX_THREADS (4,096 of a bounded log), of each row one after the other (meta: threads.joined.<process_id>)
  start_ns   INTEGER,                   -- when it was first seen; NULL: not known
  end_ns     INTEGER,                   -- NULL: it lived to the end of the process, or nobody saw it end
  allocated_blocks INTEGER,             -- by this thread, reallocs included
  allocated_bytes INTEGER,              -- by this thread, reallocs included
  freed_blocks INTEGER, freed_bytes INTEGER, -- ended by this thread (free or realloc), whoever allocated them
  leaked_blocks INTEGER, leaked_bytes INTEGER, -- allocated by this thread
  peak_bytes INTEGER,                   -- highest sum of live bytes that this thread allocated
  stack_address INTEGER,                -- lowest address of its stack; NULL: not known
  stack_bytes INTEGER                   -- from there to its highest; of the first thread as far as it may grow
) STRICT;
