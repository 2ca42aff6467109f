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
# expect stdout
#|1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 
#|2 7 12 --size-min 200 --size-max 1000
#|10 size_min=1KiB
#|7 8 9 10 11 --from 50ms --to 80ms
#|7 8 9 10 11 12 --from 50% --process 1
#|4 5 6 9 --address-min 0x30000 --address-max 0x40000
#|3 4 5 6 --kind calloc --kind realloc
#|10 --mmaped yes
#|4 5 6 9 --arena non_main
#|4 5 6 9 --thread pool
#|13 14 15 --thread 813
#|7 8 9 10 11 12 --marker loaded
#|8 11 13 --intervening-max 0
#|1 7 11 13 --deallocation-backtrace 7
#|2 3 6 7 10 14 15 --lifetime-min 30ms
#|8 --lifetime-max 1ms
