# What is counted without rows is missing where an answer is made of rows: a note says so. Totals need none.
. "$CASES/../fixture.sh"
mtrace-query allocations --format csv run.db | head -1
mtrace-query groups --size-min 1 --process 1 -n 1 --format csv run.db | head -1
mtrace-query allocations --process 2 --format csv run.db | head -1
mtrace-query temporary -n 1 --format csv run.db
