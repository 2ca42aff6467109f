. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query reallocs rows.db --size-min 4
# expect status 2
# expect stderr
#|mtrace-query: reallocs takes filters of stacks and groups only, but size_min was given
#|Try 'mtrace-query --help'.
