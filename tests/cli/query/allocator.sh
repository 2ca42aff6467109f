# Memory of allocators other than glibc's is not called heap, and advice names their functions. Arenas of glibc count up to their highest
# extent.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; DELETE FROM heaps; DELETE FROM heap_states;
INSERT INTO heaps VALUES (1, 1, 'other', 0x50000, 0x70000, 0x50010, NULL, NULL, NULL);
INSERT INTO memory_samples VALUES (1, 50000000000, 6090000, 70000, 20000, 4096, 6020000, 0, 0, 0, 20000, 50000);
INSERT INTO timeline(process_id, bucket, start_ns, end_ns, live_bytes, live_blocks, peak_bytes, low_bytes, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes)
  VALUES (1, 0, 0, 100000000000, 8000, 10, 8000, 0, 0, 0, 0, 0, 0, 0);
INSERT OR IGNORE INTO snapshots VALUES (900, 1, 60000000000, 'peak');
INSERT INTO heap_states(snapshot_id, heap_id, extent_bytes, live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes)
  SELECT snapshot_id, 1, 131072, 8000, 200, 0, 2000, 120872, 0 FROM snapshots WHERE process_id = 1 AND reason = 'peak'"
for allocator in jemalloc tcmalloc mimalloc; do
    sqlite3 run.db "UPDATE processes SET allocator = '$allocator'"
    mtrace-query run.db | grep -E "$allocator|^heap|give"
done
sqlite3 run.db "UPDATE processes SET allocator = NULL"
mtrace-query run.db | grep -E 'heap'
sqlite3 run.db "UPDATE processes SET allocator = 'glibc'; UPDATE heaps SET allocator = 'glibc', kind = 'arena'"
mtrace-query run.db | grep -E 'heap|arena|give'
# expect stdout
#|  info      At 50.0 s jemalloc kept 5.7 MiB of its 5.7 MiB resident although they were free. To give
#|jemalloc peak 128 KiB = 7.8 KiB live + 200 B slack + 0 B overhead + 2.0 KiB holes + 118 KiB free pages + 0 B top
#|            1 range of jemalloc, counted from block to block, resident or not
#|RSS split   5.7 MiB jemalloc + 0 B own mappings + 19.5 KiB files + 48.8 KiB not mapped through libc, without 4.0 KiB of mtrace
#|  info      At 50.0 s tcmalloc kept 5.7 MiB of its 5.7 MiB resident although they were free. To give
#|tcmalloc peak 128 KiB = 7.8 KiB live + 200 B slack + 0 B overhead + 2.0 KiB holes + 118 KiB free pages + 0 B top
#|            1 range of tcmalloc, counted from block to block, resident or not
#|RSS split   5.7 MiB tcmalloc + 0 B own mappings + 19.5 KiB files + 48.8 KiB not mapped through libc, without 4.0 KiB of mtrace
#|  info      At 50.0 s mimalloc kept 5.7 MiB of its 5.7 MiB resident although they were free. To give
#|mimalloc peak 128 KiB = 7.8 KiB live + 200 B slack + 0 B overhead + 2.0 KiB holes + 118 KiB free pages + 0 B top
#|            1 range of mimalloc, counted from block to block, resident or not
#|RSS split   5.7 MiB mimalloc + 0 B own mappings + 19.5 KiB files + 48.8 KiB not mapped through libc, without 4.0 KiB of mtrace
#|heap peak   128 KiB = 7.8 KiB live + 200 B slack + 0 B overhead + 2.0 KiB holes + 118 KiB free pages + 0 B top
#|            1 heap of an allocator that is not known, counted from block to block, resident or not
#|RSS split   5.7 MiB heaps + 0 B own mappings + 19.5 KiB files + 48.8 KiB not mapped through libc, without 4.0 KiB of mtrace
#|  info      At 50.0 s glibc kept 5.7 MiB of its 5.7 MiB resident although they were free. To give
#|heap peak   128 KiB = 7.8 KiB live + 200 B slack + 0 B overhead + 2.0 KiB holes + 118 KiB free pages + 0 B top
#|            1 arena of glibc, counted at the largest extent, resident or not
#|RSS split   5.7 MiB heaps + 0 B own mappings + 19.5 KiB files + 48.8 KiB not mapped through libc, without 4.0 KiB of mtrace
