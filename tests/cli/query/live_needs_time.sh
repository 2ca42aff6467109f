. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query live rows.db
# expect status 2
# expect stderr
#|mtrace-query: live needs --at TIME: a time, a percentage of the run, peak or end
#|Try 'mtrace-query --help'.
