. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
ids
ids --size-min 200 --size-max 1000
ids size_min=1KiB
ids --from 50ms --to 80ms
ids --from 50% --process 1
ids --address-min 0x30000 --address-max 0x40000
ids --kind calloc --kind realloc
ids --mmaped yes
ids --arena non_main
ids --thread pool
ids --thread 813
ids --marker loaded
ids --intervening-max 0
ids --deallocation-backtrace 7
ids --lifetime-min 30ms
ids --lifetime-max 1ms
