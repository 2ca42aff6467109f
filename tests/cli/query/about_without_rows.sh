# A query of rows that a slim database lacks is refused with the name of the view; with --about by an exit status of its own.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in hot allocations "tree nowhere" nonsense threads; do mtrace-query --about rows.db $command > about.out 2>&1 && echo "$command is answered" || echo "about: $command $?"; done
sqlite3 rows.db "DELETE FROM meta WHERE key = 'slim'; INSERT INTO meta VALUES ('slim', 1)"
mtrace-query --about rows.db allocations || echo "about: allocations $?"
for command in threads groups hot leaks summary growth; do mtrace-query --about rows.db $command > about.out 2>&1 && echo "$command is answered" || echo "about: $command $?"; done
# Of rows of single blocks SQL is refused, too, whatever view reads them.
for from in allocations "allocation_rows a" "(SELECT size_bytes FROM allocations)" realloc_chains pool_blocks group_moves; do
    mtrace-query --about rows.db sql "SELECT count(*) FROM $from" || echo "sql $from $?"
done
mtrace-query --about rows.db sql "SELECT count(*) > 0 AS threads FROM threads"
# expect stdout
#|hot is answered
#|allocations is answered
#|about: tree nowhere 2
#|about: nonsense 2
#|threads is answered
#|about: allocations 4
#|threads is answered
#|groups is answered
#|hot is answered
#|leaks is answered
#|summary is answered
#|growth is answered
#|sql allocations 4
#|sql allocation_rows a 4
#|sql (SELECT size_bytes FROM allocations) 4
#|sql realloc_chains 4
#|sql pool_blocks 4
#|sql group_moves 4
#|threads
#|      1
# expect stderr
#|mtrace-query: the recording has totals only, and this query needs rows of single blocks
#|mtrace-query: the recording has totals only, and no allocations
#|mtrace-query: the recording has totals only, and no allocations
#|mtrace-query: the recording has totals only, and no allocations
#|mtrace-query: the recording has totals only, and no realloc_chains
#|mtrace-query: the recording has totals only, and no pool_blocks
#|mtrace-query: the recording has totals only, and no group_moves
