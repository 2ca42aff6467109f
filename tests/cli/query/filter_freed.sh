# --freed-from and --freed-to select by the time of the free, as --from and --to do by that of the allocation.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --csv "$@" | tail -n +2 | cut -d, -f1 | tr '\n' ' '; echo; }
ids --freed-from 80ms
ids --freed-to 51ms
ids --freed-from 30ms --freed-to 40ms
ids --to 59ms freed_from=60ms
mtrace-query hot rows.db --freed-from 80ms --csv | cut -d, -f2-3
# expect stdout
#|7 9 11 13 
#|1 4 5 8 
#|4 5 
#|7 
#|allocated_blocks,allocated_bytes
#|1,1000
#|1,16
#|1,10
#|1,0
