. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --from 5x
# expect status 2
# expect stderr
#|mtrace-query: --from: '5x' is not a time; write seconds, or numbers with d, h, m, s, ms, us or ns, as in 4m12s
#|Try 'mtrace-query --help'.
