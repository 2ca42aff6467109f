# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case at
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
# At 45 ms blocks 2, 3 (heap 1) and 6 (heap 2) are live. Heap 1: 16384 = 250 live + 14 slack + 24 overhead (8 before the lowest
# block, two headers) + 3808 holes + 12288 top; holes of 112 and 168 bytes. Heap 2: 4096 = 40 + 0 + 16 + 4040; a hole of 48.
mtrace-query fragmentation rows.db --at 45ms
mtrace-query fragmentation rows.db --at 45ms --format csv | cut -d, -f1-18
mtrace-query pinning rows.db --at 45ms
mtrace-query pinning rows.db --at 45ms --function-regex worker --format csv
mtrace-query holes rows.db --at 45ms
# Block 12 at 0x11800 of process 1, blocks 14 and 15 of process 2; heap 1 had reached 0x13000. Each process is shown at its own end.
mtrace-query holes rows.db --at 75% --format csv
mtrace-query fragmentation rows.db --at 75% --format csv | cut -d, -f1-13
mtrace-query holes rows.db --format csv | cut -d, -f2,4,6-
mtrace-query pinning rows.db --at 45ms --process 1 --show-sql | sed -n 1,2p
# expect stdout
#|process  at        size   live  rounding  overhead    holes  free at top  where
#|      1  45ms  16.0 KiB  250 B      14 B      24 B  3.7 KiB     12.0 KiB  Cache::reserve  cache.c:31
#|      1  45ms   4.0 KiB   40 B       0 B      16 B  3.9 KiB          0 B  worker  libwork.so
#|5 more columns: --wide
#|next: mtrace-query pinning rows.db
#|process_id,at,at_ns,heap_id,kind,extent_bytes,live_bytes,slack_bytes,overhead_bytes,hole_bytes,free_page_bytes,top_bytes,unused_share,pages_to_25,pages_to_50,pages_to_75,pages_to_100,topmost_allocation_id
#|1,45ms,45000000,1,brk,16384,250,14,24,3808,0,12288,0.9847412109375,1,0,0,0,3
#|1,45ms,45000000,2,arena,4096,40,0,16,4040,0,0,0.990234375,1,0,0,0,6
#|                                           held
#|                        pinned    would      by  example
#|process  at       time   pages     free  blocks    block  where               site
#|      1  45ms  45.0 ms       1  4.0 KiB    40 B        6  worker  libwork.so     5
#|next: mtrace-query groups rows.db --site 5
#|process_id,at,at_ns,pinned_pages,would_free_bytes,usable_bytes,example_allocation_id,function,source,line,module,call_site_id
#|1,45ms,45000000,1,4096,40,6,worker,,,/opt/server/lib/libwork.so,5
#|process  at       time  heap  kind    from     to  number  bytes  share
#|      1  45ms  45.0 ms     1  brk     64 B  127 B       1  112 B   40 %
#|      1  45ms  45.0 ms     1  brk    128 B  255 B       1  168 B   60 %
#|      1  45ms  45.0 ms     2  arena   32 B   63 B       1   48 B  100 %
#|next: mtrace-query heap-map rows.db -o heaps.svg
#|process_id,at,at_ns,heap_id,kind,from_bytes,to_bytes,holes,bytes,share
#|2,75%,150000000,3,brk,16,31,2,40,1.0
#|process_id,at,at_ns,heap_id,kind,extent_bytes,live_bytes,slack_bytes,overhead_bytes,hole_bytes,free_page_bytes,top_bytes,unused_share
#|2,75%,150000000,3,brk,8192,40,24,0,4032,0,4096,0.9951171875
#|at,heap_id,from_bytes,to_bytes,holes,bytes,share
#|peak,1,64,127,1,112,0.0191518468
#|peak,1,128,255,1,168,0.0287277702
#|peak,1,4096,8191,1,5568,0.952120383
#|peak,2,32,63,1,48,1.0
#|peak,3,16,31,2,40,1.0
#|end,1,64,127,1,112,0.0191518468
#|end,1,128,255,1,168,0.0287277702
#|end,1,4096,8191,1,5568,0.952120383
#|end,2,32,63,1,48,1.0
#|end,3,16,31,2,40,1.0
#|-- What the tables of heaps below are made of:
#|SELECT a.heap_id, a.address, a.size_bytes, ifnull(a.slack_bytes, 0), a.allocation_id, a.backtrace_id FROM processes AS p CROSS JOIN allocation_rows AS a WHERE 1 AND a.allocation_id < 7 AND ((a.alloc_ns <= 45000000 AND coalesce(a.alloc_ns + a.lifetime_ns > 45000000, 1))) AND p.process_id = 1 AND a.thread_id IN (SELECT thread_id FROM threads WHERE process_id = 1) AND a.heap_id IS NOT NULL ORDER BY a.heap_id, a.address, a.allocation_id;
# case resident
# Below the table: what RSS consisted of at the nearest samples with parts, and the finding that matters most. With --at no finding.
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; UPDATE processes SET allocator = 'glibc', end_kind = 'signal';
INSERT INTO heaps VALUES (1, 1, 'brk', 0x10000, 0x14000, 0x10010, 'glibc', 8, NULL);
INSERT INTO snapshots VALUES (1001, 1, 60000000000, 'peak'), (1002, 1, 100000000000, 'end');
INSERT INTO heap_states(snapshot_id, heap_id, extent_bytes, live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes) VALUES
  (1001, 1, 20000000, 18000000, 0, 0, 0, 0, 2000000), (1002, 1, 20000000, 1000000, 0, 0, 1000000, 18000000, 0);
INSERT INTO timeline(process_id, bucket, start_ns, end_ns, live_bytes, live_blocks, peak_bytes, low_bytes, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes)
  VALUES (1, 0, 0, 60000000000, 18000000, 10, 18000000, 0, 0, 0, 0, 0, 0, 0), (1, 1, 60000000000, 100000000000, 1000000, 10, 1000000, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO memory_samples VALUES (1, 58000000000, 25000000, 20000000, 5000000, NULL, 19000000, 1000000, 0, 0, 5000000, 0), (1, 61000000000, 30000000, 30000000, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (1, 80000000000, 25500000, 20500000, 5000000, NULL, 19000000, 1000000, 0, 500000, 5000000, 0), (1, 99000000000, 25500000, 20500000, 5000000, NULL, 19000000, 1000000, 0, 500000, 5000000, 0)"
mtrace-query fragmentation run.db
mtrace-query fragmentation run.db --csv | wc -l
# Without samples there is only the finding.
sqlite3 run.db "DELETE FROM memory_samples"
mtrace-query fragmentation run.db | sed 1,3d
# expect stdout
#|                                                                       free  free at   not
#|at    heap  kind      size      live  rounding  overhead    holes     pages      top  live  where
#|peak     1  brk   19.1 MiB  17.2 MiB       0 B       0 B      0 B       0 B  1.9 MiB  10 %  -
#|end      1  brk   19.1 MiB   977 KiB       0 B       0 B  977 KiB  17.2 MiB      0 B  95 %  -
#|1 more column: --wide
#|RSS near the peak, at 58.0 s: 23.8 MiB = 18.1 MiB heaps + 977 KiB own mappings + 4.8 MiB files + 0 B
#|not mapped through libc; live blocks: 17.2 MiB.
#|RSS near the end, at 1m39s: 24.3 MiB = 18.1 MiB heaps + 977 KiB own mappings + 488 KiB shared memory
#|+ 4.8 MiB files + 0 B not mapped through libc; live blocks: 977 KiB.
#|At 1m20s glibc kept 17.2 MiB of its 18.1 MiB resident although they were free. To give free pages
#|back, call malloc_trim(0).
#|next: mtrace-query pinning run.db
#|3
#|end      1  brk   19.1 MiB   977 KiB       0 B       0 B  977 KiB  17.2 MiB      0 B  95 %  -
#|1 more column: --wide
#|Fragmentation: at the end 18.1 MiB of the heap's 19.1 MiB were free between live blocks.
#|malloc_trim(0) returns 17.2 MiB of it, which are whole pages.
#|next: mtrace-query pinning run.db
# case damaged
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
# Impossible numbers in a database must not cause an overrun, an endless loop or exhausted memory.
sqlite3 rows.db "
  UPDATE heaps SET end_address = 1 << 60 WHERE heap_id = 1; UPDATE heaps SET start_address = -5 WHERE heap_id = 2;
  UPDATE meta SET value = 0 WHERE key = 'page_size'; UPDATE backtraces SET parent_backtrace_id = backtrace_id;
  INSERT INTO packed_allocation_rows(allocation_id, alloc_ns, address, size_bytes, backtrace_id, traits)
    SELECT 90, alloc_ns, address, 1 << 50, backtrace_id, traits FROM packed_allocation_rows WHERE allocation_id = 2;
  INSERT INTO snapshots VALUES (1, 1, 90000000, 'peak');
  INSERT INTO heap_states(snapshot_id, heap_id, extent_bytes, live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes)
    VALUES (1, 1, 1 << 62, 1, 1, 1, 1, 1, 1), (1, 2, 4096, 1, 1, 1, 1, 1, 8192), (1, 3, 4096, -9, 0, 0, 0, 0, 0);
  INSERT INTO heap_pages VALUES (1, 0x10000, 1, 3, -1, -1, 99, 99), (1, 0x10fff, 1 << 60, 3, 5, 1, NULL, NULL);
  INSERT INTO heap_pins VALUES (1, 4, 200, 1, 1, 1, 1);"
for command in "fragmentation --at 45ms" "pinning --at 45ms" "holes --at 45ms" "heap-map --at 45ms" heap-map pinning; do
    status=0
    timeout 20 mtrace-query $command rows.db >out.txt 2>err.txt || status=$?
    echo "$command: status $status, $(wc -l <err.txt) lines on stderr"
done
rm out.txt err.txt
# expect stdout
#|fragmentation --at 45ms: status 0, 0 lines on stderr
#|pinning --at 45ms: status 0, 1 lines on stderr
#|holes --at 45ms: status 0, 0 lines on stderr
#|heap-map --at 45ms: status 0, 0 lines on stderr
#|heap-map: status 0, 0 lines on stderr
#|pinning: status 0, 0 lines on stderr
# case refused
. "$CASES/../lib.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
complain mtrace-query fragmentation rows.db --at 45ms --at end
complain mtrace-query fragmentation rows.db --size-min 1KiB
complain mtrace-query pinning rows.db --at 45ms --size-min 1KiB
complain mtrace-query holes rows.db --at noon
complain mtrace-query holes rows.db --at 10s
complain mtrace-query heap-map rows.db --format json
complain mtrace-query fragmentation rows.db --at 45ms --process 9
# Requests for information that the database lacks.
sqlite3 rows.db "INSERT INTO meta VALUES ('slim', 1)"
complain mtrace-query fragmentation rows.db --at 45ms
complain mtrace-query fragmentation rows.db --at end
complain mtrace-query holes rows.db
sqlite3 rows.db "DELETE FROM meta WHERE key = 'slim'; INSERT INTO meta VALUES ('recorder', 'heaptrack'), ('pairing', 'address')"
complain mtrace-query holes rows.db --at 45ms
sqlite3 rows.db "INSERT OR REPLACE INTO meta VALUES ('pairing', 'size_and_stack')"
complain mtrace-query pinning rows.db
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|                                                                       free
#|                                                                 free    at   not  topmost
#|process  at  heap  kind  size  live  rounding  overhead  holes  pages   top  live    stack  where
#|status 0, lines on stderr 1
#|status 1, lines on stderr 1
#|process  at       time  heap  kind    from     to  number  bytes  share
#|      1  45ms  45.0 ms     1  brk     64 B  127 B       1  112 B   40 %
#|      1  45ms  45.0 ms     1  brk    128 B  255 B       1  168 B   60 %
#|      1  45ms  45.0 ms     2  arena   32 B   63 B       1   48 B  100 %
#|next: mtrace-query heap-map rows.db -o heaps.svg
#|status 0, lines on stderr 1
#|process  at  time  pinned pages  would free  held by blocks  example block  where  site
#|status 0, lines on stderr 2
# expect stderr
#|mtrace-query: fragmentation shows one time, but at was given twice
#|Try 'mtrace-query --help'.
#|mtrace-query: fragmentation takes no filters, but size_min was given
#|Try 'mtrace-query --help'.
#|mtrace-query: pinning takes filters of stacks and groups only, but size_min was given
#|Try 'mtrace-query --help'.
#|mtrace-query: --alive-at: 'noon' is not a time; write seconds, or numbers with d, h, m, s, ms, us or ns, as in 4m12s
#|Try 'mtrace-query --help'.
#|mtrace-query: --at '10s' is after the end of the run; the run is from 0 s to 200 ms
#|Try 'mtrace-query --help'.
#|mtrace-query: pictures have the format SVG only
#|Try 'mtrace-query --help'.
#|mtrace-query: 'rows.db' has no process 9; mtrace-query processes lists them
#|mtrace-query: 'rows.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: note: no rows
#|mtrace-query: 'rows.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: note: heaptrack records no usable sizes and no heaps: slack, overhead and top are unknown
#|mtrace-query: note: this recording has no addresses, so heaps are unknown; 'heaptrack --raw' keeps them
#|mtrace-query: note: no rows
