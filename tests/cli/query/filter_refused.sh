. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query spare-capacity rows.db --size-min 4
