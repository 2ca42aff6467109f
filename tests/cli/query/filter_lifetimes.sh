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
# expect stdout
#|2 3 6 10 12 14 15 --lifetime only_leaked
#|2 3 4 5 6 10 12 14 15 --lifetime only_chain_leaked
#|1 4 5 7 8 9 11 13 --lifetime only-temporary
#|3 4 5 6 10 15 --lifetime only_whole_group_leaked
#|1 4 --lifetime only_deallocated_in_current_range --from 0 --to 35ms
#|2 3 5 --lifetime only_not_deallocated_in_current_range --from 0 --to 35ms
#|2 3 6 --alive-at 45ms
#|2 3 6 --alive-at 45ms --alive-at 60ms
#|2 3 6 10 12 14 15 --alive-at peak
#|2 3 6 10 12 --alive-at end --process 1
