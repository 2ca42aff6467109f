. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --to 101%
# expect status 2
# expect stderr
#|mtrace-query: --to: '101%' is not a percentage; write a number from 0 to 100 with %
#|Try 'mtrace-query --help'.
