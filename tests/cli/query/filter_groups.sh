. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
ids --group-allocations-min 4
ids --group-leaked-allocations-min 60%
ids --group-leaked-allocations-max 0
ids --group-interval-min 50ms
ids --group-interval-max 5% --process 1
