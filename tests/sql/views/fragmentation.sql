-- Heap 1 at the peak: 16 KiB = 6000 live + 200 slack + 184 overhead + 1808 holes + 4096 wholly free page + 4096 top;
-- unused 1 - 6000 / 16384. Its two pages: 4000 of 4096 bytes live (97.7 %, last class), 1024 (25 %, second class).
-- At the end 100 bytes (2.4 %) and 2048 (50 %): first and third class. Heap 2 is empty: no share, no topmost block, no pages.
-- Regular snapshots are not shown. Process 2 is a fork child: blocks that it inherited in heap 3 have no rows, so its free memory is unknown.
-- Heap 4 is of jemalloc, which allocated most blocks of process 2: 4096 = 4000 live + 96 slack.
.read code.sql
INSERT INTO heaps VALUES (1, 1, 'brk', 0x10000, 0x14000, 0x10010, 'glibc', 8, NULL), (2, 1, 'arena', 0x20000, 0x20000, NULL, 'glibc', 8, NULL),
  (3, 2, 'brk', 0x10000, 0x14000, 0x10010, 'glibc', 8, 'inherited'), (4, 2, 'other', 0x30000, 0x31000, 0x30000, NULL, NULL, NULL);
UPDATE processes SET allocator = 'jemalloc' WHERE process_id = 2;
INSERT INTO snapshots VALUES (1, 1, 60000000000, 'peak'), (2, 1, 100000000000, 'end'), (3, 1, 50000000000, 'regular'), (4, 2, 20000000000, 'peak');
INSERT INTO heap_states VALUES
  (1, 1, 16384, 6000, 200, 184, 1808, 4096, 4096, 77, 4, 0, 1, 0, 1),
  (2, 1, 16384, 2100, 48, 0, 6044, 0, 8192, 78, 8, 1, 0, 1, 0),
  (2, 2, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0),
  (3, 1, 16384, 1, 0, 0, 4095, 12288, 0, 5, 4, 1, 0, 0, 0),
  (4, 3, 16384, 500, 24, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 4, 4096, 4000, 96, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 1);
-- expect
--|process_id,at,at_ns,heap_id,kind,extent_bytes,live_bytes,slack_bytes,overhead_bytes,hole_bytes,free_page_bytes,top_bytes,unused_share,pages_to_25,pages_to_50,pages_to_75,pages_to_100,topmost_allocation_id,topmost_backtrace_id,function,source,line,module,call_site_id
--|1,peak,60000000000,1,brk,16384,6000,200,184,1808,4096,4096,0.6337890625,0,1,0,1,77,4,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
--|1,end,100000000000,1,brk,16384,2100,48,0,6044,0,8192,0.871826171875,1,0,1,0,78,8,worker,,,/opt/server/lib/libwork.so,5
--|1,end,100000000000,2,arena,0,0,0,0,0,0,0,,0,0,0,0,,,,,,,
--|2,peak,20000000000,3,brk,16384,500,24,,,,,,,,,,,,,,,,
--|2,peak,20000000000,4,jemalloc,4096,4000,96,0,0,0,0,0.0234375,0,0,0,1,,,,,,,
