# What is counted without rows is missing where an answer is made of rows: a note says so. Totals need none.
. "$CASES/../fixture.sh"
mtrace-query allocations --format csv run.db | sed -n 1,1p
mtrace-query groups --size-min 1 --process 1 -n 1 --format csv run.db | sed -n 1,1p
mtrace-query allocations --process 2 --format csv run.db | sed -n 1,1p
mtrace-query temporary -n 1 --format csv run.db
