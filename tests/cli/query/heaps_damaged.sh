. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
# Figures that no recording has: nothing of them may lead past an array, into a loop, or out of memory.
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
