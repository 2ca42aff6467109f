-- mtrace database, schema 1: the names that users, commands, tests and exports may rely on.
--
-- Public: every table and view below whose name has no suffix. Their column names, units and NULLs are the contract.
-- Private: tables that end in _rows. Their encoding may change where a measurement justifies it; the views above them keep their columns.
-- Units: *_ns are nanoseconds on CLOCK_MONOTONIC since the start of the earliest recorded process. *_bytes are requested bytes unless
-- named usable or slack. *_address are virtual addresses as integers. NULL means unknown, or did not happen; there are no sentinels.
-- A key is named <singular>_id. A reference has the same name, with a prefix if it has a role.
-- Works in stock sqlite3 3.40. To load it:  cat importer/schema/*.sql | sqlite3 new.db

PRAGMA application_id = 1836348003; -- 'mtrc'
PRAGMA user_version = 1;

CREATE TABLE meta (             -- facts about the recording and the import
  -- Recording: 'collector.version'; 'arch' (processes.architecture of the first process); 'page_size'; 'clock' ('tsc', the processor's counter, or 'monotonic');
  --   'pairing' ('address': a free names its block; 'size_and_stack': a free names only the size and stack of its block, and ends the youngest such block);
  --   'recorder' ('heaptrack'; no row: mtrace); 'names' ('recording': functions and lines came with the recording);
  --   'free_backtraces' (1: frees have stacks); 'nodes' (distinct stacks); 'segments'; 'log.bytes'; 'processes'.
  -- Limits: 'import.until_ns', 'import.until_marker': the values of --until and --until-marker; later events are missing.
  --   'processes.partial': number of processes that were recorded late (also by attaching), or not all the time; their blocks of other times are missing.
  --   'processes.partial.<process_id>': 1 for each of these processes.
  --   'processes.started.<process_id>': number of processes that it started; none with --until. If 'setting.MTRACE_FOLLOW_CHILDREN' is 0, they are not recorded.
  --   'mmaps.unlooked': pieces of anonymous mappings that ended before all of their pages were examined (too many untouched pages, or too many mappings).
  --   'unseen.<executable>': the allocator inside this executable ('jemalloc'); its blocks are missing in all tables.
  --     'jemalloc (in part)': the blocks of some of its functions are missing. 'unseen_why.<executable>': the reason.
  --     'unseen_process.<process_id>': 1 for each of these processes.
  -- Events: 'events' (read), 'events.dropped' (never in the log), and one row per reason: 'events.dropped.no_space', '.limit', '.nested', '.no_memory'.
  -- Damage: 'log.bytes' (size of the log files), 'log.lost_bytes' (the part of it that could not be read),
  --   'log.damage' (text, one line for each of the first kinds found), 'log.damage.<kind>' (how often).
  -- Anomalies: 'anomaly.unknown_free', 'anomaly.unknown_realloc' (the address is not live),
  --   'anomaly.double_allocation' (allocated where a block was live: ended_by 3),
  --   'anomaly.clock_inversion' (repaired), 'frees.untracked' (frees of blocks that were allocated while tracing was off).
  -- Stacks: 'unwinder.checked', 'unwinder.mismatches' (MTRACE_UNWINDER=check);
  --   'modules.unnamed': libraries whose code has no names, because more were loaded at the same time than mtrace can distinguish;
  --   'modules.unnamed.<process_id>': those of one process.
  -- Import: 'mtrace.version', 'schema.version', 'allocations', 'import.seconds', 'symbols.seconds';
  --   'slim' (1: no allocation rows);
  --   'aggregate' (1: from a log of --aggregate; set together with 'slim'; only blocks that are live at the end have rows);
  --   'aggregate.left_out.<kind>' (number of rows for which such a log had no room: events, mappings, memory samples, extents of heaps,
  --     windows; all phases, blocks of pools and walks over objects; 'frees_by_stack', 'frees_by_thread': number of frees whose stack or thread is only known as "another one");
  --   'early' (1: --follow continues, and adds these rows at the end); 'lean' (1: of a live report, totals only).
  -- Threads: 'threads.joined.<process_id>': number of its threads without a row of their own: those beyond MTRACE_MAX_THREADS share the rows 'other threads'.
  -- Program: 'suppression.<n>' (the program's own rules for what is not a leak, as heaptrack records them: see the view suppressions).
  -- Collector: 'message.<n>' (its diagnostics), 'setting.<NAME>' (of its environment).
  key   TEXT PRIMARY KEY,               -- one of the above
  value ANY                             -- number or text
) STRICT, WITHOUT ROWID;

CREATE TABLE processes (        -- one recorded program image: fork makes a child, exec ends one image and starts another
  process_id        INTEGER PRIMARY KEY, -- 1, 2, … in order of start
  parent_process_id INTEGER,            -- the parent; NULL for the first
  pid               INTEGER NOT NULL,   -- the kernel's PID; exec keeps it
  architecture      TEXT,               -- of the program: 'x86_64', 'aarch64', 'riscv64', 'mips64el'; with 4-byte words 'i386', 'arm', 'riscv32', 'mipsel', 'x32'; else 'machine ' and ELF's number; NULL: not known
  executable        TEXT,               -- path, by the name with which it was called; NULL: not known
  command_line      TEXT,               -- JSON array of arguments
  start_unix_ns     INTEGER,            -- wall clock at start_ns
  start_ns          INTEGER NOT NULL,   -- start of the image, or time when mtrace-record was attached to it; 0 for the first
  end_ns            INTEGER NOT NULL,   -- last known time
  duration_ns       INTEGER AS (end_ns - start_ns), -- computed
  end_kind          TEXT,               -- 'exit', 'signal', 'exec' (live blocks are lost, not leaked), 'detached' (the program continued without mtrace), 'running' (also at the time that --until or --until-marker names), 'unseen' (the log stops early: it still arrives from another machine, or was truncated), 'unknown' (the log has no end event: killed, or _exit by a raw system call)
  end_value         INTEGER,            -- exit status or signal number
  peak_bytes        INTEGER,            -- highest sum of live requested bytes
  peak_blocks       INTEGER,            -- live blocks at peak_ns
  peak_ns           INTEGER,            -- first time when peak_bytes was reached; NULL: no block was ever live
  max_rss_bytes     INTEGER,            -- highest resident size by the kernel's own count (ru_maxrss); NULL: not known, or the number is that of a child it waited for, or of an image before an exec
  inherited_frees   INTEGER DEFAULT 0,  -- frees and reallocs of blocks that were allocated in the parent, or before mtrace-record was attached; NULL: not known from samples
  events            INTEGER NOT NULL DEFAULT 0, -- events read from its log; a realloc counts once
  events_dropped    INTEGER NOT NULL DEFAULT 0, -- events that never reached the log, by the collector's own count
  sample_bytes      INTEGER,            -- mean distance of samples in bytes: blocks are samples, and all sums of blocks and bytes are estimates; NULL: every block was recorded
  allocator         TEXT                -- of most of its blocks: 'glibc', 'jemalloc', 'tcmalloc', 'mimalloc' (a library, or inside the executable); NULL: unknown, or no block
) STRICT;

CREATE TABLE threads (
  thread_id  INTEGER PRIMARY KEY,       -- 1, 2, … in order of process and start
  process_id INTEGER NOT NULL,          -- process of the thread
  tid        INTEGER NOT NULL,          -- the kernel's thread id; 0: 'other threads', or not known
  name       TEXT,                      -- NULL: none, or the row stands for all threads that the log does not name; 'other threads': threads beyond MTRACE_MAX_THREADS (4,096 in a bounded log), which use the row one after the other (meta: threads.joined.<process_id>)
  start_ns   INTEGER,                   -- when mtrace first saw it; NULL: not known
  end_ns     INTEGER,                   -- NULL: it lived to the end of the process, or its end was not recorded
  allocated_blocks INTEGER,             -- allocated by this thread, reallocs included
  allocated_bytes INTEGER,              -- allocated by this thread, reallocs included
  freed_blocks INTEGER, freed_bytes INTEGER, -- freed by this thread (free or realloc), also if another thread allocated them
  leaked_blocks INTEGER, leaked_bytes INTEGER, -- allocated by this thread and never freed
  peak_bytes INTEGER,                   -- highest sum of live bytes that this thread allocated
  stack_address INTEGER,                -- lowest address of its stack; NULL: not known
  stack_bytes INTEGER                   -- from there to its highest address; for the first thread, the size to which it may grow
) STRICT;
