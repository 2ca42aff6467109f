# What a lean import leaves out is refused by its name, in reports and in SQL; what needs totals only is answered as ever.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in threads groups flows by-group; do mtrace-query $command rows.db; done > whole
sqlite3 rows.db "INSERT INTO meta VALUES ('lean', 1)"
for command in threads groups flows by-group; do mtrace-query $command rows.db; done | cmp - whole && echo same
for command in hot leaks summary growth heap-map; do mtrace-query $command rows.db || echo "$command $?"; done
mtrace-query sql "SELECT count(*) FROM site_leaks" rows.db || echo "sql $?"
mtrace-query sql "SELECT name FROM groups AS g JOIN (SELECT count(*) AS name FROM heap_pages) LIMIT 1" rows.db || echo "view $?"
for command in hot allocations "tree nowhere" nonsense threads; do mtrace-query --about rows.db $command > about.out 2>&1 && echo "$command is answered" || echo "about: $command $?"; done
sqlite3 rows.db "DELETE FROM meta WHERE key = 'slim'; INSERT INTO meta VALUES ('slim', 1)"
mtrace-query --about rows.db allocations || echo "about: allocations $?"
