# One process was recorded in full and another by samples: each block of the first counts once, so the threads of process 1 have the same
# numbers as without samples.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query threads rows.db --process 1 --function-regex . --format csv >before
sqlite3 rows.db 'UPDATE processes SET sample_bytes = 100 WHERE process_id = 2'
mtrace-query threads rows.db --process 1 --function-regex . --format csv | diff before - && cat before
# Numbers of the full recording have no margin.
mtrace-query tree rows.db --process 1 --measure leaked --size-min 0 2>/dev/null | head -1
mtrace-query flamegraph rows.db --process 1 --size-min 0 2>/dev/null | grep -c '±'
# expect status 1
# expect stdout
#|thread_id,process_id,tid,name,start_ns,end_ns,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,peak_bytes,stack_address,stack_bytes
#|1,1,812,server,0,100000000000,8,6558,3,108,4,5450,6250,,
#|2,1,820,pool,1000000000,90000000000,3,70,3,1030,1,40,40,,
#|server (pid 812): leaked, 5.4 KiB in 5 blocks of 3 stacks; size_min 0
#|0
