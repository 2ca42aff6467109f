. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --sise-min 4
# expect status 2
# expect stderr
#|mtrace-query: unrecognized option '--sise-min'
#|Try `mtrace-query --help' or `mtrace-query --usage' for more information.
