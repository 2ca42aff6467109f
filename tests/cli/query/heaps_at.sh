. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
# At 45 ms blocks 2, 3 (heap 1) and 6 (heap 2) are live. Heap 1: 16384 = 250 live + 14 slack + 24 overhead (8 before the lowest
# block, two headers) + 3808 holes + 12288 top; holes of 112 and 168 bytes. Heap 2: 4096 = 40 + 0 + 16 + 4040; a hole of 48.
mtrace-query fragmentation rows.db --at 45ms
mtrace-query fragmentation rows.db --at 45ms --format csv | cut -d, -f1-18
mtrace-query pinning rows.db --at 45ms
mtrace-query pinning rows.db --at 45ms --function-regex worker --format csv
mtrace-query holes rows.db --at 45ms
# Block 12 at 0x11800 of process 1, blocks 14 and 15 of process 2; heap 1 reached to 0x13000 by then. Each at its own end.
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
