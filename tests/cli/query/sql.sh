# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case sql
mtrace-query sql run.db "SELECT process_id, pid, executable, NULL AS absent FROM processes ORDER BY 1" --format csv
# expect stdout
#|process_id,pid,executable,absent
#|1,812,/opt/server/bin/server,
#|2,813,/opt/server/bin/server,
#|3,814,/bin/sh,
# case blob
for format in table csv json; do
    mtrace-query sql run.db "SELECT x'00ff' AS of_two, x'' AS of_none, zeroblob(4) AS of_four" --format $format
done
# expect stdout
#|of_two  of_none   of_four
#|  00FF           00000000
#|of_two,of_none,of_four
#|00FF,,00000000
#|[
#| {"of_two":"00FF","of_none":"","of_four":"00000000"}
#|]
# case nul
mtrace-query sql run.db "SELECT 'a' || char(0) || 'b' AS text, char(0) AS nul, '' AS empty" --format json
mtrace-query sql run.db "SELECT 'a' || char(0) || 'b' AS text, char(0, 44) AS quoted, '' AS empty" --format csv | tr '\000' '!'
mtrace-query sql run.db "SELECT 'a' || char(0) || 'b' AS text, 'f' || char(0) || 'g' AS function"
# expect stdout
#|[
#| {"text":"a\u0000b","nul":"\u0000","empty":""}
#|]
#|text,quoted,empty
#|a!b,"!,",
#|text  function
#|a?b   f?g
# case parameter
. "$CASES/../lib.sh"
complain mtrace-query sql run.db "SELECT :id"
complain mtrace-query sql run.db "SELECT ?"
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: the statement has the parameter ':id', which has no value here; write the value into the statement
#|Try 'mtrace-query --help'.
#|mtrace-query: the statement has the parameter '?', which has no value here; write the value into the statement
#|Try 'mtrace-query --help'.
# case rows
# User SQL that reads single blocks through any view has a note about blocks without rows, or is refused if no block has one. SQL on totals
# has no note.
ask() {
    echo "$2" >&2
    mtrace-query sql "$2" "$1" >/dev/null || echo "exit status $?" >&2
}
make_fixture whole.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
cp whole.db bounded.db
sqlite3 bounded.db "INSERT INTO meta VALUES ('slim', 1), ('aggregate', 1);
    UPDATE backtrace_totals SET elided_blocks = 2 WHERE process_id = 1 AND backtrace_id = 2"
cp whole.db slim.db
sqlite3 slim.db "INSERT INTO meta VALUES ('slim', 1)"
cp slim.db early.db
sqlite3 early.db "INSERT INTO meta VALUES ('early', 1)"
for statement in "SELECT size_bytes FROM allocations" "SELECT count(*) FROM allocations" "SELECT 1 WHERE EXISTS (SELECT 1 FROM live_blocks WHERE at_ns = 5)" \
    "WITH a AS (SELECT * FROM realloc_chains) SELECT count(*) FROM a" "SELECT * FROM pool_blocks" "SELECT * FROM leaks" "SELECT allocated_blocks FROM backtrace_totals"; do
    ask bounded.db "$statement"
done
for database in whole slim early run; do
    ask $database.db "SELECT count(*) FROM allocations"
    ask $database.db "SELECT count(*) FROM backtrace_totals"
done
# expect stderr
#|SELECT size_bytes FROM allocations
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT count(*) FROM allocations
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT 1 WHERE EXISTS (SELECT 1 FROM live_blocks WHERE at_ns = 5)
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|WITH a AS (SELECT * FROM realloc_chains) SELECT count(*) FROM a
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT * FROM pool_blocks
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT * FROM leaks
#|SELECT allocated_blocks FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|SELECT count(*) FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|mtrace-query: 'slim.db' has totals only, and no allocations
#|exit status 1
#|SELECT count(*) FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|mtrace-query: 'early.db' has totals only, and no allocations
#|exit status 1
#|SELECT count(*) FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|mtrace-query: note: 10 blocks were elided: totals include them, but tables of single blocks do not
#|SELECT count(*) FROM backtrace_totals
# case hidden_alone
# Columns that are usually shown below a row, or hidden, are shown if there are no others.
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
# case hostile_text
mtrace-query sql run.db "SELECT char(27) || '[31m' AS escaped, char(8230) AS dots"
mtrace-query sql run.db "SELECT char(27, 34) AS escaped, x'00ff' AS blob, 1.5 AS real" --format json
# expect stdout
#|escaped  dots
#|?[31m    …
#|[
#| {"escaped":"\u001b\"","blob":"00FF","real":1.5}
#|]
# case time_limit
# The time limit also stops a single long SQL function, within which SQLite does not check for interrupts.
mtrace-query sql --time-limit=1s run.db "SELECT $(for i in $(seq 60); do printf "length(trim(replace(hex(zeroblob(20000)), '0', 'a'), replace(hex(zeroblob(8000)), '0', 'b') || 'a')) + "; done)0"
# expect status 1
# expect stderr
#|mtrace-query: this took longer than the time limit allows; narrow the query
# case refused_sql
# Invalid SQL, and SQL that would change the database.
. "$CASES/../lib.sh"
echo '== sql attach'
complain mtrace-query sql run.db "ATTACH 'x' AS y"
echo '== sql syntax'
complain mtrace-query sql run.db "SELEC 1"
echo '== sql two'
complain mtrace-query sql run.db "SELECT 1; SELECT 2"
echo '== sql write'
complain mtrace-query sql run.db "DELETE FROM processes"
# expect stdout
#|== sql attach
#|status 2, lines on stderr 2
#|== sql syntax
#|status 2, lines on stderr 2
#|== sql two
#|status 2, lines on stderr 2
#|== sql write
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: only reading is allowed: one SELECT
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot run the statement: near "SELEC": syntax error
#|Try 'mtrace-query --help'.
#|mtrace-query: one SELECT is expected, found more
#|Try 'mtrace-query --help'.
#|mtrace-query: only reading is allowed: one SELECT
#|Try 'mtrace-query --help'.
