-- Code that the fixtures share. The stack tree, ids in preorder:
--
--    1 _start                         libc.so.6     (no call site: libc's own code)
--    2   main             main.c:10   server        site 1
--    3     Session::clone session.c:88              site 2
--    4       operator new  libstdc++                site 2 (the innermost that no rule skips)
--    5     Session::clone session.c:88 (recursion)  site 2, called from 2 by another line of main
--    6     Cache::reserve cache.c:31                site 3
--    7     Session::close session.c:140             site 4 (frees)
--    8   worker           worker.c:5  libwork.so    site 5 (no debug information: no source)
--    9     setlocale                  libc.so.6     site 5
--   10 [truncated]                    no file       (synthetic root of what lost its caller)
--   11   plug             libwork.so                site 6 (no function: module alone)
INSERT INTO objects(object_id, path, build_id, debug_path, debug_note) VALUES
  (1, '/usr/lib/libc.so.6', 'c0', '/usr/lib/debug/libc', NULL),
  (2, '/opt/server/bin/server', 'aa', '/opt/server/bin/server', NULL),
  (3, '/opt/server/lib/libwork.so', 'bb', NULL, 'built without -g'),
  (4, '/usr/lib/libstdc++.so.6', 'cc', NULL, NULL);
INSERT INTO functions(function_id, name, raw_name) VALUES
  (1, '_start', '_start'), (2, 'main', 'main'), (3, 'Session::clone(int) const', '_ZNK7Session5cloneEi'),
  (4, 'operator new(unsigned long)', '_Znwm'), (5, 'Cache::reserve', '_ZN5Cache7reserveEv'),
  (6, 'Session::close', '_ZN7Session5closeEv'), (7, 'worker', 'worker'), (8, 'setlocale', 'setlocale');
INSERT INTO sources(source_id, path) VALUES
  (1, '/opt/server/src/main.c'), (2, '/opt/server/src/session.c'), (3, '/opt/server/src/cache.c');
INSERT INTO frames(frame_id, object_id, object_offset, is_exact) VALUES
  (1, 1, 0x1000, 0), (2, 2, 0x2000, 0), (3, 2, 0x2100, 0), (4, 4, 0x4000, 0), (5, 2, 0x2010, 0), (6, 2, 0x2200, 0),
  (7, 2, 0x2300, 0), (8, 3, 0x3000, 0), (9, 1, 0x1100, 0), (10, NULL, 0, 0), (11, 3, 0x3100, 0);
INSERT INTO frame_lines(frame_id, inline_level, function_id, source_id, line) VALUES
  (1, 0, 1, NULL, NULL), (2, 0, 2, 1, 10), (3, 0, 3, 2, 88), (4, 0, 4, NULL, NULL), (5, 0, 3, 2, 88), (5, 1, 2, 1, 12),
  (6, 0, 5, 3, 31), (7, 0, 6, 2, 140), (8, 0, 7, NULL, NULL), (9, 0, 8, NULL, NULL), (10, 0, NULL, NULL, NULL),
  (11, 0, NULL, NULL, NULL);
INSERT INTO call_sites(call_site_id, function_id, source_id, line, object_id) VALUES
  (1, 2, 1, 10, 2), (2, 3, 2, 88, 2), (3, 5, 3, 31, 2), (4, 6, 2, 140, 2), (5, 7, NULL, NULL, 3), (6, NULL, NULL, NULL, 3);
INSERT INTO backtraces(backtrace_id, parent_backtrace_id, last_descendant_id, frame_id, depth, call_site_id, status)
VALUES
  (1, NULL, 9, 1, 1, NULL, 'complete'),
  (2, 1, 7, 2, 2, 1, 'complete'),
  (3, 2, 4, 3, 3, 2, 'complete'),
  (4, 3, 4, 4, 4, 2, 'complete'),
  (5, 2, 5, 5, 3, 2, 'complete'),
  (6, 2, 6, 6, 3, 3, 'complete'),
  (7, 2, 7, 7, 3, 4, 'complete'),
  (8, 1, 9, 8, 2, 5, 'guessed'),
  (9, 8, 9, 9, 3, 5, 'guessed'),
  (10, NULL, 11, 10, 1, NULL, 'truncated'),
  (11, 10, 11, 11, 2, 6, 'truncated');
INSERT INTO meta(key, value) VALUES ('page_size', 4096);
-- Process 1 was killed after 100 s; process 2, its child, exited; process 3 was replaced by exec.
INSERT INTO processes(process_id, parent_process_id, pid, executable, start_ns, end_ns, end_kind, end_value, peak_bytes,
  peak_blocks, peak_ns, inherited_frees, events, events_dropped) VALUES
  (1, NULL, 812, '/opt/server/bin/server', 0, 100000000000, 'signal', 9, 10000, 40, 60000000000, 0, 1000, 0),
  (2, 1, 813, '/opt/server/bin/server', 10000000000, 30000000000, 'exit', 0, 500, 5, 20000000000, 3, 50, 7),
  (3, 1, 814, '/bin/sh', 40000000000, 41000000000, 'exec', 0, 64, 1, 40500000000, 0, 4, 0);
INSERT INTO threads(thread_id, process_id, tid, name, start_ns, end_ns) VALUES
  (1, 1, 812, 'server', 0, 100000000000), (2, 1, 820, 'pool', 1000000000, 90000000000),
  (3, 2, 813, 'server', 10000000000, 30000000000), (4, 3, 814, 'sh', 40000000000, 41000000000);
-- What rules skip of these: libc and libstdc++ as objects, operator new as a function.
INSERT INTO skipped_code(target, id) VALUES ('function', 4), ('object', 1), ('object', 4);
-- All of it was recorded.
INSERT INTO windows SELECT process_id, process_id, start_ns, NULL, 'start', 'end', 0, 0, 0, 0, NULL, NULL, 1 FROM processes;
