-- Process 1: 111 blocks of 14570 bytes allocated; 97 of 9520 freed; 14 of 5050 leaked, 300 of them below setlocale;
-- 82 temporary (0.7387). Heap parts as given. The highest sample is of 50 s, not of the peak of live bytes at 60 s. It has no parts;
-- the highest that has them is of 62 s: 58000 = 9000 heaps + 9192 mappings + 24000 stacks + 1000 shared + 14000 files + 808.
-- 17 of 111 blocks have a complete stack. Process 2 was not sampled: NULL. Process 3 ended by exec: nothing leaked.
-- Process 1 was recorded for 10 + 30 of its 100 s, process 2 all the time, process 3 never.
-- Of its two heaps it inherited blocks in one: what is free in both together is not known.
.read code.sql
.read totals.sql
INSERT INTO heaps(heap_id, process_id, kind, start_address, end_address) VALUES
  (1, 1, 'brk', 0x10000, 0x14000), (2, 1, 'arena', 0x20000, 0x21000), (4, 3, 'arena', 0x20000, 0x21000);
INSERT INTO heaps(heap_id, process_id, kind, start_address, end_address, allocator, unseen_blocks) VALUES
  (3, 3, 'brk', 0x10000, 0x14000, 'glibc', 'inherited');
INSERT INTO snapshots VALUES (1, 1, 60000000000, 'peak'), (2, 1, 100000000000, 'end'), (3, 3, 40500000000, 'peak');
INSERT INTO heap_states(snapshot_id, heap_id, extent_bytes, live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes,
  topmost_allocation_id, topmost_backtrace_id) VALUES
  (1, 1, 16384, 8000, 200, 184, 1808, 2096, 4096, 77, 4), (1, 2, 4096, 1000, 96, 0, 3000, 0, 0, 78, 8),
  (2, 1, 16384, 100, 12, 16, 3968, 0, 12288, 77, 4), (3, 3, 16384, 40, 8, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, 4, 4096, 24, 0, 8, 4064, 0, 0, 78, 8);
INSERT INTO memory_samples VALUES (1, 50000000000, 60000, 40000, 15000, 7000, NULL, NULL, NULL, NULL, NULL, NULL),
  (1, 59000000000, 50000, 30000, 15000, 7000, NULL, NULL, NULL, NULL, NULL, NULL),
  (1, 61000000000, 55000, 35000, 15000, 7000, 9000, 9192, 21000, 1000, 14000, 808),
  (1, 62000000000, 58000, 42000, 15000, NULL, 9000, 9192, 24000, 1000, 14000, 808);
INSERT INTO mmaps(mmap_id, mmap_call_id, process_id, address, length, flags, mapped_ns, unmapped_ns) VALUES
  (1, 1, 1, 0x7f0000, 8192, 34, 1, NULL), (2, 2, 1, 0x7f1000, 4096, 34, 1, 2), (3, 3, 1, 0x7f2000, 4096, 2, 1, NULL);
INSERT INTO allocation_failures VALUES (1, 1, 1, 5, 4, 0, 1000000, 12);
DELETE FROM windows;
INSERT INTO windows SELECT 1, 1, start_ns + 10000000000, start_ns + 20000000000, 'control', 'time', 100, 10000, 10, 5000, 1, 100, 1 FROM processes WHERE process_id = 1;
INSERT INTO windows SELECT 2, 1, end_ns - 30000000000, NULL, 'signal', 'end', 11, 4570, 4, 50, 101, 111, 1 FROM processes WHERE process_id = 1;
INSERT INTO windows SELECT 3, 2, start_ns, NULL, 'start', 'end', 1, 1, 0, 0, NULL, NULL, 1 FROM processes WHERE process_id = 2;
