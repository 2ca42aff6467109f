# One case for each kind of finding, on copies of one database.
. "$CASES/../fixture.sh"
# show TITLE SQL: process 1 of a copy with these changes; severity, sentence and command of findings that it changes.
show() {
    echo "== $1"
    cp run.db copy.db
    sqlite3 copy.db "$2"
    mtrace-query copy.db --json --process 1 >answer.json
    sqlite3 :memory: "SELECT f.value ->> 'severity' || ': ' || (f.value ->> 'sentence') || char(10) || '   ' || (f.value ->> 'command') || '  ' || (f.value ->> 'page')
      FROM json_each(readfile('answer.json'), '\$[0].findings') AS f WHERE f.value ->> 'sentence' GLOB '$3'"
    # The SQL behind each finding has rows for stock SQLite.
    sqlite3 :memory: "SELECT f.value ->> 'sql' || ' LIMIT 1;' FROM json_each(readfile('answer.json'), '\$[0].findings') AS f WHERE f.value ->> 'sentence' GLOB '$3'" >behind.sql
    sqlite3 copy.db <behind.sql | wc -l | sed 's/^/   rows: /'
    # Each command that is printed works.
    sqlite3 :memory: "SELECT f.value ->> 'command' FROM json_each(readfile('answer.json'), '\$[0].findings') AS f WHERE f.value ->> 'sentence' GLOB '$3'" >commands
    while read -r command; do
        $command >answer.txt 2>&1 || { echo "$command:"; cat answer.txt; }
    done <commands
}
mib='* 1048576'
exited="UPDATE processes SET end_kind = 'exit', end_value = 0, peak_bytes = 20 $mib WHERE process_id = 1;"
leaking="$exited UPDATE site_totals SET leaked_blocks = 1000, leaked_bytes = 8 $mib, allocated_blocks = 1000 WHERE process_id = 1 AND call_site_id = 2;
  UPDATE site_leaks SET leaked_blocks = 1000, leaked_bytes = 8 $mib WHERE process_id = 1 AND call_site_id = 2;"
show 'a leak that goes on' "$leaking" '*Session*'
twice="CREATE TEMP TABLE other AS SELECT * FROM site_leaks WHERE process_id = 1 AND call_site_id = 2 AND rule_id IS NULL;
  UPDATE other SET call_site_id = 5, leaked_blocks = 2 * leaked_blocks, leaked_bytes = 1 $mib, leaked_last_ns = leaked_last_ns + 1000; INSERT INTO site_leaks SELECT * FROM other;"
show 'two call sites that leak together are one' "$leaking DELETE FROM site_leaks WHERE process_id = 1 AND call_site_id = 5; $twice" '*together*'
four="$leaking DELETE FROM site_leaks WHERE process_id = 1 AND call_site_id <> 2; CREATE TEMP TABLE other AS SELECT * FROM site_leaks WHERE process_id = 1 AND call_site_id = 2 AND rule_id IS NULL;
  UPDATE other SET call_site_id = 5, leaked_bytes = 3000; INSERT INTO site_leaks SELECT * FROM other; UPDATE other SET call_site_id = 3; INSERT INTO site_leaks SELECT * FROM other; UPDATE other SET call_site_id = 1; INSERT INTO site_leaks SELECT * FROM other;"
show 'four call sites that leak together: one is not named' "$four" '*together*'
show 'blocks of another time are another leak' "$leaking DELETE FROM site_leaks WHERE process_id = 1 AND call_site_id = 5; $twice UPDATE site_leaks SET leaked_first_ns = 50000000000 WHERE process_id = 1 AND call_site_id = 5;" '*throughout*'
show 'a running program has live blocks' "$leaking UPDATE processes SET end_kind = 'running', end_value = NULL WHERE process_id = 1" '*Session*'
show 'a program that was killed may still reach its blocks: said once' "$leaking DELETE FROM site_leaks WHERE process_id = 1 AND call_site_id = 5; $twice UPDATE site_leaks SET leaked_first_ns = 50000000000 WHERE process_id = 1 AND call_site_id = 5; UPDATE processes SET end_kind = 'signal' WHERE process_id = 1" '*live when*'
show 'stacks that freed no block' "$leaking UPDATE site_leaks SET leaked_blocks = 990, allocated_blocks = 1000 WHERE process_id = 1 AND call_site_id = 2; UPDATE backtrace_totals SET allocated_blocks = 600, leaked_blocks = 600 WHERE process_id = 1 AND backtrace_id = 4" '*Session*'
small="CREATE TEMP TABLE small AS SELECT * FROM site_leaks WHERE process_id = 1 AND call_site_id = 2 AND rule_id IS NULL;
  DELETE FROM site_leaks WHERE process_id = 1 AND call_site_id <> 2; UPDATE small SET leaked_blocks = 10, leaked_bytes = 1000, leaked_first_ns = 60000000000, pattern = 'late';
  UPDATE small SET call_site_id = 5; INSERT INTO site_leaks SELECT * FROM small; UPDATE small SET call_site_id = 3, leaked_bytes = 990; INSERT INTO site_leaks SELECT * FROM small;"
show 'what the others are, if the largest goes on' "$leaking $small DELETE FROM site_leaks WHERE process_id = 1 AND call_site_id = 3; UPDATE site_totals SET leaked_blocks = leaked_blocks + 1, leaked_bytes = leaked_bytes + 1 WHERE process_id = 1 AND call_site_id = 3" '* more *'
show 'what stopped growing is not critical' "$leaking UPDATE site_leaks SET pattern = 'plateau' WHERE process_id = 1" '*never*Session*'
show 'what exec replaced has leaked nothing' "$leaking UPDATE processes SET end_kind = 'exec' WHERE process_id = 1" '*Session*'
growing="$exited DELETE FROM site_growth; INSERT INTO site_growth(process_id, call_site_id, snapshots, from_bytes, to_bytes, pattern, since_ns, until_ns, bytes_per_s, grown_bytes_margin) VALUES (1, 3, 64, 1 $mib, 9 $mib, 'steady', 1000000000, 90000000000, 100000, NULL), (1, 1, 64, 0, 1000, 'steady', 0, 1, 1, NULL);"
show 'growth that is freed at the end' "$growing" '*growing*'
show 'leaks that belong together and are too small have no finding, so their growth has' "$leaking $small $growing" '*growing*'
show 'growth of a program that still runs' "$growing UPDATE processes SET end_kind = 'running' WHERE process_id = 1" '*growing*'
show 'growth of a run that is over within a second' "$growing UPDATE processes SET end_ns = start_ns + 900000000 WHERE process_id = 1" '*growing*'
heaps="INSERT INTO heaps VALUES (1, 1, 'brk', 0x10000, 0x14000, 0x10010, 'glibc', 8, NULL);
  INSERT INTO snapshots VALUES (1001, 1, 60000000000, 'peak'), (1002, 1, 100000000000, 'end');
  INSERT INTO heap_states(snapshot_id, heap_id, extent_bytes, live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes) VALUES
    (1001, 1, 20 $mib, 8 $mib, 2 $mib, 1 $mib, 2 $mib, 7 $mib, 0), (1002, 1, 20 $mib, 5 $mib, 0, 0, 2 $mib, 0, 13 $mib);
  INSERT INTO heap_pins VALUES (1001, 4, 0, 500, 100000, 16, 1);"
show 'fragmentation, and who pins pages' "$exited $heaps" 'Frag*'
show 'small blocks' "$exited $heaps" '*small*'
show 'malloc_trim is no advice for another allocator' "$exited $heaps UPDATE heaps SET allocator = NULL" '*trim*'
show 'free memory at the top' "$heaps DELETE FROM heap_states WHERE snapshot_id = 1001" '*above*'
show 'a heap that was emptied before exit' "$exited $heaps DELETE FROM heap_states WHERE snapshot_id = 1001; UPDATE heap_states SET live_bytes = 1 $mib, hole_bytes = 19 $mib, top_bytes = 0" '*Frag*'
kept="$exited INSERT INTO heaps VALUES (1, 1, 'other', 0x10000, 0x14000, 0x10010, NULL, NULL, NULL); UPDATE processes SET allocator = 'jemalloc';
  INSERT INTO timeline(process_id, bucket, start_ns, end_ns, live_bytes, live_blocks, peak_bytes, low_bytes, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes) VALUES
    (1, 0, 0, 50000000000, 19 $mib, 10, 19 $mib, 0, 0, 0, 0, 0, 0, 0), (1, 1, 50000000000, 100000000000, 1 $mib, 10, 1 $mib, 1 $mib, 0, 0, 0, 0, 0, 0);
  INSERT INTO memory_samples VALUES (1, 40000000000, 21 $mib, 21 $mib, 0, 0, 21 $mib, 0, 0, 0, 0, 0), (1, 60000000000, 21 $mib, 21 $mib, 0, 0, 21 $mib, 0, 0, 0, 0, 0);"
show 'free memory that stays resident' "$kept" '*kept*'
ended="INSERT INTO snapshots VALUES (1002, 1, 100000000000, 'end');
  INSERT INTO heap_states(snapshot_id, heap_id, extent_bytes, live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes) VALUES (1002, 1, 20 $mib, 1 $mib, 0, 0, 9 $mib, 10 $mib, 0); INSERT INTO heap_pins VALUES (1002, 4, 0, 500, 100000, 16, 1);"
killed="$kept $ended UPDATE processes SET end_kind = 'signal', allocator = 'glibc' WHERE process_id = 1; UPDATE heaps SET allocator = 'glibc', kind = 'brk';"
show 'free pages of a program that was killed are one finding' "$killed" '[AF]* were free*'
show 'holes of a program that was killed are one finding, about what pins them' "$killed UPDATE heap_states SET hole_bytes = 15 $mib, free_page_bytes = 4 $mib" '[AF]* were free*'
show 'free pages that are not resident are no waste' "$killed UPDATE heap_states SET hole_bytes = 4 $mib, free_page_bytes = 15 $mib; DELETE FROM memory_samples; INSERT INTO memory_samples VALUES (1, 99500000000, 11 $mib, 11 $mib, 0, 0, 11 $mib, 0, 0, 0, 0, 0);" '[AF]* were free*'
show 'nor is a heap that malloc_trim has emptied' "$killed UPDATE heap_states SET hole_bytes = 4 $mib, free_page_bytes = 15 $mib; DELETE FROM memory_samples; INSERT INTO memory_samples VALUES (1, 99500000000, 5 $mib, 5 $mib, 0, 0, 5 $mib, 0, 0, 0, 0, 0);" '[AF]* were free*'
show 'holes of a heap that has shrunk since explain nothing' "$killed UPDATE heap_states SET extent_bytes = 2 $mib, hole_bytes = 100000, free_page_bytes = 0; UPDATE processes SET end_kind = 'exit', end_value = 0 WHERE process_id = 1" '[AF]* were free*'
show 'resident for less than a second' "$kept UPDATE memory_samples SET at_ns = 99500000000 WHERE at_ns = 60000000000" '*kept*'
show 'two samples are enough' "$kept UPDATE memory_samples SET at_ns = at_ns + 39600000000" '*kept*'
show 'blocks from before the recording may lie there' "$kept UPDATE heaps SET unseen_blocks = 'inherited'" '*kept*'
show 'no heap was seen' "$kept DELETE FROM heaps" '*kept*'
show 'live blocks are small' "$kept UPDATE timeline SET live_blocks = 400000" '*kept*'
show 'fragmentation of another allocator, of a program that runs on' "$kept $ended UPDATE processes SET end_kind = 'running' WHERE process_id = 1" '[AF]* were free*'
holes="UPDATE heap_states SET hole_bytes = 15 $mib, free_page_bytes = 4 $mib WHERE snapshot_id = 1002;"
show 'no purge helps against holes of another allocator' "$kept $ended UPDATE processes SET end_kind = 'running' WHERE process_id = 1; $holes" '[AF]* were free*'
show 'after an exit neither' "$kept $ended $holes" '[AF]* were free*'
show 'holes alone need no advice' "$kept $ended UPDATE heap_states SET hole_bytes = 19 $mib, free_page_bytes = 0" '[AF]* were free*'
show 'holes of which no sample says that they stay resident' "$kept $ended UPDATE processes SET end_kind = 'running' WHERE process_id = 1; DELETE FROM memory_samples; $holes" '[AF]* were free*'
mapped="$kept UPDATE timeline SET live_bytes = 0, peak_bytes = 0; UPDATE processes SET peak_bytes = 0 WHERE process_id = 1; DELETE FROM memory_samples; INSERT INTO memory_samples VALUES
  (1, 1000000000, 40 $mib, 0, 0, 0, 0, 0, 0, 0, 40 $mib, 0), (1, 50000000000, 58 $mib, 0, 0, 0, 0, 18 $mib, 0, 0, 40 $mib, 0), (1, 99000000000, 76 $mib, 0, 0, 0, 0, 36 $mib, 0, 0, 40 $mib, 0);"
show 'mappings that grow' "$mapped" '*mappings*'
show 'mappings that stopped growing' "$mapped UPDATE memory_samples SET own_mapping_resident_bytes = 35 $mib WHERE at_ns = 50000000000" '*mappings*'
show 'they matter less than larger blocks' "$mapped UPDATE memory_samples SET own_mapping_resident_bytes = 35 $mib WHERE at_ns = 50000000000; UPDATE processes SET peak_bytes = 50 $mib WHERE process_id = 1" '*mappings*'
python="UPDATE objects SET path = '/usr/bin/python3.11' WHERE object_id = 2; INSERT INTO mmaps(mmap_id, mmap_call_id, process_id, backtrace_id, address, length, mapped_ns) VALUES (1001, 1001, 1, 6, 0, 1048576, 1);"
show 'mappings of CPython' "$mapped $python" '*mappings*'
show 'arenas of CPython that are no growing mappings' "$python" '*arenas*'
show 'mappings that are blocks' "$mapped UPDATE timeline SET live_bytes = 30 $mib, peak_bytes = 30 $mib; UPDATE processes SET peak_bytes = 30 $mib WHERE process_id = 1" '*mappings*'
show 'realloc' "UPDATE site_totals SET realloc_copied_bytes = 20 $mib WHERE process_id = 1 AND call_site_id = 2; UPDATE site_totals SET allocated_bytes = 30 $mib WHERE process_id = 1 AND call_site_id = 2;
  DELETE FROM chain_totals; INSERT INTO chain_totals VALUES (1, 4, 2, 500, 400, 20 $mib, 251, 20, 200000, 0)" 'realloc*'
show 'temporary blocks' "UPDATE site_totals SET temporary_blocks = 90000000, allocated_blocks = 90000000 WHERE process_id = 1 AND call_site_id = 5" '*temporary*'
show 'few temporary blocks with many bytes' "UPDATE site_totals SET temporary_blocks = 0, temporary_bytes = 0, allocated_blocks = 8500, allocated_bytes = 1 $mib WHERE process_id = 1; UPDATE site_totals SET temporary_blocks = 8000, temporary_bytes = 2 $mib WHERE process_id = 1 AND call_site_id = 5" '*temporary*'
image="INSERT INTO heap_images(image_id, process_id, at_ns, cause, method, pause_ns) SELECT 1, 1, start_ns + 1000000000, 'exit', 'stop', 1 FROM processes WHERE process_id = 1;
  INSERT INTO heap_image_sites VALUES (1, 2, 8 $mib, 1000, 8 $mib, 8 $mib, 0, NULL);"
show 'blocks that a heap image shows lost are critical' "$leaking $image" '*8.0 MiB*'
show 'few lost bytes are not' "$exited $image UPDATE heap_image_sites SET head_bytes = 100000, lost_bytes = 100000" '*no longer reach*'
churn="UPDATE site_totals SET temporary_blocks = 2000000000, allocated_blocks = 2000000000 WHERE process_id = 1 AND call_site_id = 5;"
show 'a leak that goes on comes before churn' "$leaking $churn" '*[0-9] blocks*'
show 'so does one that is not growing' "$leaking $churn UPDATE site_leaks SET pattern = 'plateau' WHERE process_id = 1" '*[0-9] blocks*'
show 'a trivial one does not' "$exited $churn" '*[0-9] blocks*'
show 'stacks by frame pointers' "" '*frame pointers*'
show 'stacks that end early' "UPDATE backtraces SET status = 'truncated' WHERE status = 'guessed'" '*complete stack*'
show 'failures and bad frees' "INSERT INTO allocation_failures VALUES (1, 1, 1, 5, 4, 1, 1000, 12); INSERT INTO unmatched_frees VALUES (4096, 1, 1, 1, 5, 4, 'free'), (4096, 2, 1, 1, 6, 4, 'realloc')" '[12] *'
show 'hostile names' "$exited UPDATE functions SET name = char(27) || '[31mred' || char(10) || 'line'" '*held*'
show 'hostile name of an allocator' "$kept UPDATE processes SET allocator = 'my' || char(27) || '[31malloc' || char(10)" '*kept*'
workers="$leaking CREATE TEMP TABLE other AS SELECT * FROM site_leaks WHERE process_id = 1 AND call_site_id = 2 AND rule_id IS NULL;
  UPDATE other SET process_id = 2; DELETE FROM site_leaks WHERE process_id <> 1; INSERT INTO site_leaks SELECT * FROM other;"
show 'workers that leak at one call site: their sum' "$workers" '*Session*'
# expect stdout
#|== a leak that goes on
#|warning: 8.0 MiB in 1,000 blocks from Session::clone (session.c:88) were never freed; they came throughout the run, 102 KiB/s. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|   rows: 1
#|== two call sites that leak together are one
#|warning: 9.0 MiB in 3,000 blocks from Session::clone (session.c:88), worker (libwork.so), which belong together, were never freed; they came throughout the run, 115 KiB/s. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|   rows: 1
#|== four call sites that leak together: one is not named
#|warning: 8.0 MiB in 4,000 blocks from Session::clone (session.c:88), main (main.c:10), Cache::reserve (cache.c:31) and 1 more call site, which belong together, were never freed; they came throughout the run, 103 KiB/s. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|   rows: 1
#|== blocks of another time are another leak
#|warning: 8.0 MiB in 1,000 blocks from Session::clone (session.c:88) were never freed; they came throughout the run, 102 KiB/s. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|warning: 1.0 MiB in 2,000 blocks from worker (libwork.so) were never freed; they came throughout the run, 25.6 KiB/s.
#|   mtrace-query leaks-by-stack copy.db --site 5 --process 1 --stacks  leaks-by-stack?process=1&site=5
#|   rows: 2
#|== a running program has live blocks
#|critical: 8.0 MiB in 1,000 blocks from Session::clone (session.c:88) are live now; they came throughout the run, 102 KiB/s. Whether the program can still reach them is not known.
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|   rows: 1
#|== a program that was killed may still reach its blocks: said once
#|critical: 8.0 MiB in 1,000 blocks from Session::clone (session.c:88) were live when a signal ended the program; they came throughout the run, 102 KiB/s. Whether the program can still reach them is not known.
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|warning: 1.0 MiB in 2,000 blocks from worker (libwork.so) were live when a signal ended the program; they came throughout the run, 25.6 KiB/s.
#|   mtrace-query leaks-by-stack copy.db --site 5 --process 1 --stacks  leaks-by-stack?process=1&site=5
#|   rows: 2
#|== stacks that freed no block
#|warning: 8.0 MiB in 990 blocks from Session::clone (session.c:88) were never freed; they came throughout the run, 102 KiB/s. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|   rows: 1
#|== what the others are, if the largest goes on
#|info: 4.2 KiB more in 8 blocks were never freed, the largest part from worker (libwork.so): 1000 B in 10 blocks, they came in the second half of the run.
#|   mtrace-query leaks copy.db --process 1  leaks?process=1
#|   rows: 1
#|== what stopped growing is not critical
#|info: 8.0 MiB in 1,006 blocks were never freed, the largest part from Session::clone (session.c:88): 8.0 MiB in 1,000 blocks, they stopped growing during the run. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks copy.db --process 1  leaks?process=1
#|   rows: 1
#|== what exec replaced has leaked nothing
#|   rows: 0
#|== growth that is freed at the end
#|warning: Cache::reserve (cache.c:31) keeps growing: from 1.0 MiB to 9.0 MiB, 97.7 KiB/s; a longer run needs more.
#|   mtrace-query growth copy.db --site 3 --process 1  growth?process=1&site=3
#|   rows: 1
#|== leaks that belong together and are too small have no finding, so their growth has
#|warning: Cache::reserve (cache.c:31) keeps growing: from 1.0 MiB to 9.0 MiB, 97.7 KiB/s; a longer run needs more.
#|   mtrace-query growth copy.db --site 3 --process 1  growth?process=1&site=3
#|   rows: 1
#|== growth of a program that still runs
#|critical: Cache::reserve (cache.c:31) keeps growing: from 1.0 MiB to 9.0 MiB, 97.7 KiB/s; a longer run needs more.
#|   mtrace-query growth copy.db --site 3 --process 1  growth?process=1&site=3
#|   rows: 1
#|== growth of a run that is over within a second
#|   rows: 0
#|== fragmentation, and who pins pages
#|warning: Fragmentation: at the peak 9.0 MiB of the heap's 20.0 MiB were free between live blocks. malloc_trim(0) returns 7.0 MiB of it, which are whole pages. Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query pinning copy.db --process 1  pinning?alive_at=peak&process=1
#|   rows: 1
#|== small blocks
#|info: Blocks are small: at the peak headers and rounded sizes took 3.0 MiB, 38 % of the bytes in use. Allocate several objects in one block.
#|   mtrace-query size-histogram copy.db --process 1  size-histogram?process=1
#|   rows: 1
#|== malloc_trim is no advice for another allocator
#|   rows: 0
#|== free memory at the top
#|info: At the end 13.0 MiB of the heap's 20.0 MiB were free above the last live block: malloc_trim(0) returns them.
#|   mtrace-query fragmentation copy.db --process 1  fragmentation?alive_at=end&process=1
#|   rows: 1
#|== a heap that was emptied before exit
#|   rows: 0
#|== free memory that stays resident
#|warning: At 1m00s jemalloc kept 20.0 MiB of its 21.0 MiB resident although they were free. To give free pages back, call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas; or set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl("arena.<i>.dirty_decay_ms").
#|   mtrace-query timeline copy.db --process 1  timeline?process=1
#|   rows: 1
#|== free pages of a program that was killed are one finding
#|warning: At 1m00s glibc kept 20.0 MiB of its 21.0 MiB resident although they were free. To give free pages back, call malloc_trim(0). Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query fragmentation copy.db --process 1  fragmentation?process=1
#|   rows: 1
#|== holes of a program that was killed are one finding, about what pins them
#|warning: Fragmentation: at the end 19.0 MiB of the heap's 20.0 MiB were free between live blocks. Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query pinning copy.db --process 1  pinning?alive_at=end&process=1
#|   rows: 1
#|== free pages that are not resident are no waste
#|warning: Fragmentation: at the end 10.0 MiB of the heap's 20.0 MiB were free between live blocks. malloc_trim(0) returns 6.0 MiB of it, which are whole pages. Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query pinning copy.db --process 1  pinning?alive_at=end&process=1
#|   rows: 1
#|== nor is a heap that malloc_trim has emptied
#|   rows: 0
#|== holes of a heap that has shrunk since explain nothing
#|warning: At 1m00s glibc kept 20.0 MiB of its 21.0 MiB resident although they were free. To give free pages back, call malloc_trim(0).
#|   mtrace-query fragmentation copy.db --process 1  fragmentation?process=1
#|   rows: 1
#|== resident for less than a second
#|   rows: 0
#|== two samples are enough
#|warning: At 1m20s jemalloc kept 20.0 MiB of its 21.0 MiB resident although they were free. To give free pages back, call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas; or set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl("arena.<i>.dirty_decay_ms").
#|   mtrace-query timeline copy.db --process 1  timeline?process=1
#|   rows: 1
#|== blocks from before the recording may lie there
#|   rows: 0
#|== no heap was seen
#|   rows: 0
#|== live blocks are small
#|   rows: 0
#|== fragmentation of another allocator, of a program that runs on
#|warning: At 1m00s jemalloc kept 20.0 MiB of its 21.0 MiB resident although they were free. To give free pages back, call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas; or set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl("arena.<i>.dirty_decay_ms"). Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query fragmentation copy.db --process 1  fragmentation?process=1
#|   rows: 1
#|== no purge helps against holes of another allocator
#|warning: At 1m00s jemalloc kept 20.0 MiB of its 21.0 MiB resident although they were free. At the end 15.0 MiB of its free memory were holes between live blocks, which no purge gives back, and 4.0 MiB were free pages. To give free pages back, call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas; or set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl("arena.<i>.dirty_decay_ms"). Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query fragmentation copy.db --process 1  fragmentation?process=1
#|   rows: 1
#|== after an exit neither
#|warning: At 1m00s jemalloc kept 20.0 MiB of its 21.0 MiB resident although they were free. At the end 15.0 MiB of its free memory were holes between live blocks, which no purge gives back, and 4.0 MiB were free pages. To give free pages back, call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas; or set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl("arena.<i>.dirty_decay_ms"). Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query fragmentation copy.db --process 1  fragmentation?process=1
#|   rows: 1
#|== holes alone need no advice
#|warning: At 1m00s jemalloc kept 20.0 MiB of its 21.0 MiB resident although they were free. At the end 19.0 MiB of its free memory were holes between live blocks, which no purge gives back, and 0 B were free pages. Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query fragmentation copy.db --process 1  fragmentation?process=1
#|   rows: 1
#|== holes of which no sample says that they stay resident
#|warning: Fragmentation: at the end 19.0 MiB of the heap's 20.0 MiB were free between live blocks. At the end 15.0 MiB of its free memory were holes between live blocks, which no purge gives back, and 4.0 MiB were free pages. To give free pages back, call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas. Session::clone (session.c:88) keeps 2.0 MiB of pages in use with 97.7 KiB of blocks.
#|   mtrace-query pinning copy.db --process 1  pinning?alive_at=end&process=1
#|   rows: 1
#|== mappings that grow
#|warning: At 1m39s 36.0 MiB of 76.0 MiB RSS were mappings that the program made itself, not blocks; they grew throughout.
#|   mtrace-query mmaps copy.db --process 1  mmaps?process=1
#|   rows: 1
#|== mappings that stopped growing
#|warning: At 1m39s 36.0 MiB of 76.0 MiB RSS were mappings that the program made itself, not blocks.
#|   mtrace-query mmaps copy.db --process 1  mmaps?process=1
#|   rows: 1
#|== they matter less than larger blocks
#|info: At 1m39s 36.0 MiB of 76.0 MiB RSS were mappings that the program made itself, not blocks.
#|   mtrace-query mmaps copy.db --process 1  mmaps?process=1
#|   rows: 1
#|== mappings of CPython
#|warning: At 1m39s 36.0 MiB of 76.0 MiB RSS were mappings that the program made itself, not blocks; they grew throughout. CPython keeps objects of at most 512 bytes in arenas, which are mappings and not blocks: PYTHONMALLOC=malloc records each object, at a higher overhead.
#|   mtrace-query mmaps copy.db --process 1  mmaps?process=1
#|   rows: 1
#|== arenas of CPython that are no growing mappings
#|info: CPython mapped 1.0 MiB of arenas. CPython keeps objects of at most 512 bytes in arenas, which are mappings and not blocks: PYTHONMALLOC=malloc records each object, at a higher overhead.
#|   mtrace-query mmaps copy.db --process 1  mmaps?process=1
#|   rows: 1
#|== mappings that are blocks
#|   rows: 0
#|== realloc
#|info: realloc copied 20.0 MiB, 20.0 MiB of it for Session::clone (session.c:88), whose buffers grow in up to 251 steps: reserve the size, or double it.
#|   mtrace-query reallocs copy.db --process 1  reallocs?process=1
#|   rows: 1
#|== temporary blocks
#|warning: 99.9 % of all allocations, with 56 % of the bytes, are temporary: their thread freed them before it made more than one other. worker (libwork.so) allocates most of them, 90,000,000 blocks: reuse a buffer there.
#|   mtrace-query temporary copy.db --process 1  temporary?process=1
#|   rows: 1
#|== few temporary blocks with many bytes
#|info: 19 % of all allocations, with 40 % of the bytes, are temporary: their thread freed them before it made more than one other. worker (libwork.so) allocates most of them, 8,000 blocks: reuse a buffer there.
#|   mtrace-query temporary copy.db --process 1  temporary?process=1
#|   rows: 1
#|== blocks that a heap image shows lost are critical
#|critical: 8.0 MiB in 1,000 blocks from Session::clone (session.c:88) were never freed; they came throughout the run, 102 KiB/s. At the last heap image they were lost.
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|critical: At the heap image after 1.0 s, the program could no longer reach 8.0 MiB, most of it allocated in Session::clone (session.c:88).
#|   mtrace-query lost copy.db --process 1  lost?process=1
#|   rows: 2
#|== few lost bytes are not
#|info: At the heap image after 1.0 s, the program could no longer reach 97.7 KiB, most of it allocated in Session::clone (session.c:88).
#|   mtrace-query lost copy.db --process 1  lost?process=1
#|   rows: 1
#|== a leak that goes on comes before churn
#|warning: 8.0 MiB in 1,000 blocks from Session::clone (session.c:88) were never freed; they came throughout the run, 102 KiB/s. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|warning: 99.9 % of all allocations, with 56 % of the bytes, are temporary: their thread freed them before it made more than one other. worker (libwork.so) allocates most of them, 2,000,000,000 blocks: reuse a buffer there.
#|   mtrace-query temporary copy.db --process 1  temporary?process=1
#|info: At the peak, at 1m00s, worker (libwork.so) held <0.1 % of 20.0 MiB in 29 blocks.
#|   mtrace-query peak copy.db --process 1  peak?process=1
#|info: 4.0 KiB more in 6 blocks were never freed, the largest part from Cache::reserve (cache.c:31): 3.9 KiB in 1 block, allocated once.
#|   mtrace-query leaks copy.db --process 1  leaks?process=1
#|   rows: 4
#|== so does one that is not growing
#|info: 8.0 MiB in 1,006 blocks were never freed, the largest part from Session::clone (session.c:88): 8.0 MiB in 1,000 blocks, they stopped growing during the run. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks copy.db --process 1  leaks?process=1
#|warning: 99.9 % of all allocations, with 56 % of the bytes, are temporary: their thread freed them before it made more than one other. worker (libwork.so) allocates most of them, 2,000,000,000 blocks: reuse a buffer there.
#|   mtrace-query temporary copy.db --process 1  temporary?process=1
#|info: At the peak, at 1m00s, worker (libwork.so) held <0.1 % of 20.0 MiB in 29 blocks.
#|   mtrace-query peak copy.db --process 1  peak?process=1
#|   rows: 3
#|== a trivial one does not
#|warning: 99.9 % of all allocations, with 56 % of the bytes, are temporary: their thread freed them before it made more than one other. worker (libwork.so) allocates most of them, 2,000,000,000 blocks: reuse a buffer there.
#|   mtrace-query temporary copy.db --process 1  temporary?process=1
#|info: At the peak, at 1m00s, worker (libwork.so) held <0.1 % of 20.0 MiB in 29 blocks.
#|   mtrace-query peak copy.db --process 1  peak?process=1
#|info: 4.0 KiB more in 6 blocks were never freed, the largest part from Cache::reserve (cache.c:31): 3.9 KiB in 1 block, allocated once.
#|   mtrace-query leaks copy.db --process 1  leaks?process=1
#|info: 700 B in 7 blocks from Session::clone (session.c:88) were never freed; they came throughout the run, 8 B/s. Other blocks of the same stacks are freed in Session::close (session.c:140). Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --process 1 --stacks  leaks-by-stack?process=1&site=2
#|   rows: 4
#|== stacks by frame pointers
#|info: 82 % of the allocations have stacks through code without unwind information (as of a JIT), which were followed by frame pointers.
#|   mtrace-query unwind-quality copy.db --process 1  unwind-quality?process=1
#|   rows: 1
#|== stacks that end early
#|warning: Only 15 % of the allocations have a complete stack: call trees miss callers.
#|   mtrace-query unwind-quality copy.db --process 1  unwind-quality?process=1
#|   rows: 1
#|== failures and bad frees
#|warning: 1 allocation failed: the program got no memory.
#|   mtrace-query allocation-failures copy.db --process 1  allocation-failures?process=1
#|warning: 2 calls (1 of realloc) got an address that is not a live block: a double free, an invalid free, or an allocator that was not recorded.
#|   mtrace-query errors copy.db --process 1  errors?process=1
#|   rows: 2
#|== hostile names
#|info: At the peak, at 1m00s, ?[31mred?line (libwork.so) held <0.1 % of 20.0 MiB in 29 blocks.
#|   mtrace-query peak copy.db --process 1  peak?process=1
#|   rows: 2
#|== hostile name of an allocator
#|warning: At 1m00s my?[31malloc? kept 20.0 MiB of its 21.0 MiB resident although they were free. To give free pages back, call the purge function of the allocator; or see how its free pages decay.
#|   mtrace-query timeline copy.db --process 1  timeline?process=1
#|   rows: 1
#|== workers that leak at one call site: their sum
#|warning: 16.0 MiB in 2,000 blocks from Session::clone (session.c:88) in 2 processes were never freed, 8.0 MiB of it in this process; they came throughout the run, 205 KiB/s. Whether the program could still reach them is not known (record with --heap-image=exit).
#|   mtrace-query leaks-by-stack copy.db --site 2 --stacks  leaks-by-stack?process=1&site=2
#|   rows: 1
