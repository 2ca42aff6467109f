. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
ids --group-allocations-min 4
ids --group-leaked-allocations-min 60%
ids --group-leaked-allocations-max 0
ids --group-interval-min 50ms
ids --group-interval-max 5% --process 1
# expect stdout
#|1 2 11 12 --group-allocations-min 4
#|3 10 15 --group-leaked-allocations-min 60%
#|7 8 9 --group-leaked-allocations-max 0
#|1 2 3 10 11 12 --group-interval-min 50ms
#|7 8 9 --group-interval-max 5% --process 1
