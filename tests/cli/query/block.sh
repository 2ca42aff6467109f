. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query block rows.db 0x10011
mtrace-query block 0x30015 rows.db --at 35ms
