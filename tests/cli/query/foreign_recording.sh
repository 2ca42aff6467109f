# A recording of another tool: no pid, no word about its end, and addresses where a module's place is not known.
. "$CASES/../fixture.sh"
sqlite3 run.db "INSERT INTO meta VALUES ('recorder', 'heaptrack'), ('names', 'recording'); UPDATE processes SET pid = 0, end_kind = 'unknown', end_value = NULL;
    DELETE FROM processes WHERE process_id > 1; UPDATE call_sites SET object_offset = 0x7f0000003000 WHERE call_site_id = 6;
    UPDATE frames SET object_offset = 0x7f0000003100 WHERE frame_id = 11"
mtrace-query leaks run.db --process 1
mtrace-query stack 11 run.db
mtrace-query flamegraph run.db --measure leaked -o heap.svg
grep -o '<title>[^<]*' heap.svg | head -1
sqlite3 run.db "SELECT function FROM sites WHERE call_site_id = 6; SELECT stack FROM stack_texts WHERE backtrace_id = 11"
