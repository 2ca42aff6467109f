. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --lifetime foo
# expect status 2
# expect stderr
#|mtrace-query: --lifetime: 'foo' is none of all, only_leaked, only_chain_leaked, only_not_deallocated_in_current_range, only_deallocated_in_current_range, only_temporary, only_whole_group_leaked
#|Try 'mtrace-query --help'.
