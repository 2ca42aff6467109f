# --pack finishes an --aggregate log and does not report missing events, because these are in files beside it.
. "$CASES/../lib.sh"
mtrace-record -q --aggregate -o run.dat -- sh -c 'exit 0'
mtrace-record --pack run.dat
mtrace-import --no-symbols run.dat run.db 2>/dev/null
mtrace-query --format csv run.db sql 'SELECT sum(allocated_blocks) > 0 AS has_blocks FROM backtrace_totals'
# expect stdout
#|has_blocks
#|1
# expect stderr
#|mtrace-record: 'run.dat' is complete; its events are in 'run.dat.gN' and 'run.dat.state' beside it
