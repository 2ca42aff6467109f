# Each answer states by kind how many events exceeded the limits of an --aggregate log.
. "$CASES/../lib.sh"
mtrace-record -q --aggregate -o run.dat -- sh -c 'exit 0'
mtrace-import --no-symbols run.dat run.db 2>/dev/null
sqlite3 run.db "INSERT INTO meta VALUES ('aggregate.left_out.mappings', 12), ('aggregate.left_out.extents', 3456)"
mtrace-query --format csv run.db processes >/dev/null
mtrace-query run.db summary 2>&1 | grep "left out"
# expect status 1
# expect stderr
#|mtrace-query: note: the log (--aggregate) had no room for a row for each of these: 3456 extents of heaps, 12 mappings
