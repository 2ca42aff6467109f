. "$CASES/../fixture.sh"
# Columns that stand below a row, or are left out, are shown when there are no others.
mtrace-query sql run.db "SELECT 'main < start' AS stack"
mtrace-query sql run.db "SELECT 'main < start' AS stack" --wide
make_fixture one.db "$source/tests/sql/code.sql" "$source/tests/sql/totals.sql"
sqlite3 one.db "DELETE FROM processes WHERE process_id > 1"
mtrace-query sql one.db "SELECT 1 AS process_id, 'main < start' AS stack"
mtrace-query sql one.db "SELECT 2 AS process_id"
# expect stdout
#|stack
#|main < start
#|stack
#|main < start
#|process_id  stack
#|         1  main < start
#|process_id
#|         2
