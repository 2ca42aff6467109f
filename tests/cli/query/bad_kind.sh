. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --kind nothing
# expect status 2
# expect stderr
#|mtrace-query: --kind: 'nothing' is none of malloc, calloc, realloc, aligned_alloc
#|Try 'mtrace-query --help'.
