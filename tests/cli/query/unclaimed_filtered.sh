# Unclaimed memory accepts filters of stacks and groups, but not of rows, because it has only totals by stack.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
make_fixture walks.db "$source/tests/sql/code.sql" "$source/tests/sql/totals.sql" "$source/tests/sql/objects.sql"
sqlite3 walks.db "INSERT INTO unclaimed_totals SELECT max(w.walk_id), t.backtrace_id, t.backtrace_id, 10 * t.backtrace_id FROM object_walks AS w
    JOIN backtrace_totals AS t ON t.process_id = w.process_id GROUP BY w.process_id, t.backtrace_id"
mtrace-query unclaimed walks.db --csv -n 0 >all.csv
mtrace-query unclaimed walks.db --csv -n 0 --backtrace-depth-min 0 | cmp - all.csv && echo same
mtrace-query unclaimed walks.db --csv -n 0 --function-regex 'Cache::reserve' | cut -d, -f1-3,11
sqlite3 walks.db "SELECT w.process_id, u.bytes, u.blocks, u.backtrace_id FROM unclaimed_totals AS u JOIN object_walks AS w USING (walk_id)
    WHERE u.backtrace_id IN (SELECT backtrace_id FROM stack_frames WHERE function = 'Cache::reserve') ORDER BY 2 DESC"
complain mtrace-query unclaimed walks.db --size-min 4
# expect stdout
#|same
#|process_id,bytes,blocks,backtrace_id
#|1,60,6,6
#|2,60,6,6
#|1|60|6|6
#|2|60|6|6
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: unclaimed takes filters of stacks and groups only, but size_min was given
#|Try 'mtrace-query --help'.
