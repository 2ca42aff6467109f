-- Process 1 has jemalloc, of process 3 the allocator is not known. The others have glibc: which option helps depends on where the free
-- memory is. Process 2 has no heap; process 4 had most above its last live block at the peak, but more below one at the end; process 5
-- has it above; process 6 in one arena; process 7 in two; process 8 also, but
-- at its peak all of it was live.
.read code.sql
INSERT INTO processes(process_id, pid, start_ns, end_ns, end_kind, peak_bytes, peak_blocks, peak_ns, inherited_frees, events, events_dropped)
  SELECT value, 800 + value, 0, 9, 'exit', 0, 0, 0, 0, 0, 0 FROM generate_series(4, 8);
UPDATE processes SET allocator = iif(process_id = 1, 'jemalloc', 'glibc') WHERE process_id <> 3;
INSERT INTO heaps SELECT 10 * process_id, process_id, 'brk', 0, 0, NULL, 'glibc', 8, NULL FROM processes WHERE process_id > 3;
INSERT INTO heaps VALUES (61, 6, 'arena', 0, 0, NULL, 'glibc', 8, NULL), (71, 7, 'arena', 0, 0, NULL, 'glibc', 8, NULL), (72, 7, 'arena', 0, 0, NULL, 'glibc', 8, NULL),
  (81, 8, 'arena', 0, 0, NULL, 'glibc', 8, NULL), (82, 8, 'arena', 0, 0, NULL, 'glibc', 8, NULL);
INSERT INTO snapshots SELECT process_id, process_id, 9, 'end' FROM processes WHERE process_id > 3;
INSERT INTO snapshots VALUES (1, 4, 5, 'peak'), (2, 8, 5, 'peak');
INSERT INTO heap_states(snapshot_id, heap_id, extent_bytes, live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes) VALUES
  (1, 40, 9000, 8000, 0, 0, 0, 0, 1000), (4, 40, 9000, 100, 0, 0, 0, 8000, 900), (5, 50, 9000, 100, 0, 0, 100, 3000, 5800),
  (6, 60, 9000, 100, 0, 0, 100, 8000, 800), (6, 61, 20000, 0, 0, 0, 0, 0, 20000), (7, 70, 9000, 0, 0, 0, 0, 0, 9000),
  (7, 71, 9000, 100, 0, 0, 0, 8900, 0), (7, 72, 9000, 1000, 0, 0, 0, 0, 8000),
  (2, 81, 9000, 9000, 0, 0, 0, 0, 0), (2, 82, 9000, 9000, 0, 0, 0, 0, 0), (8, 81, 9000, 1000, 0, 0, 0, 8000, 0), (8, 82, 9000, 1000, 0, 0, 0, 8000, 0);
-- expect
--|process_id,allocator,memory,release,decay
--|1,jemalloc,"jemalloc memory","call mallctl(""arena.4096.purge"", NULL, NULL, NULL, 0), which purges all arenas","set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl(""arena.<i>.dirty_decay_ms"")"
--|2,glibc,heap,"call malloc_trim(0)",
--|3,,"allocator memory","call the purge function of the allocator","see how its free pages decay"
--|4,glibc,heap,"call malloc_trim(0)",
--|5,glibc,heap,"call malloc_trim(0)","lower M_TRIM_THRESHOLD, because most of the free memory is above the last live block"
--|6,glibc,heap,"call malloc_trim(0)",
--|7,glibc,heap,"call malloc_trim(0)","set MALLOC_ARENA_MAX=2, because 2 arenas hold most of the free memory"
--|8,glibc,heap,"call malloc_trim(0)",
