. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --thread nobody
# expect status 2
# expect stderr
#|mtrace-query: --thread: 'nobody' is none of 1, 2, 3, 4, 812, 820, 813, 814, server, pool, server, sh
#|Try 'mtrace-query --help'.
