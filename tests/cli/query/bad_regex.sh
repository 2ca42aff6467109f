. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --function-regex "a(b"
# expect status 2
# expect stderr
#|mtrace-query: 'a(b' is not a regular expression: missing closing parenthesis at character 4
#|Try 'mtrace-query --help'.
