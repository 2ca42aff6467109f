. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
ids --lifetime only_leaked
ids --lifetime only_chain_leaked
ids --lifetime only-temporary
ids --lifetime only_whole_group_leaked
ids --lifetime only_deallocated_in_current_range --from 0 --to 35ms
ids --lifetime only_not_deallocated_in_current_range --from 0 --to 35ms
ids --alive-at 45ms
ids --alive-at 45ms --alive-at 60ms
ids --alive-at peak
ids --alive-at end --process 1
