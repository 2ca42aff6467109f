# A database that an older mtrace-import made lacks the totals by call site: they are computed.
. "$CASES/../fixture.sh"
for report in summary leaks temporary peak hot by-module growth; do mtrace-query $report -n 0 --format csv run.db; done >today
for table in $(sed -n 's/^INSERT INTO \([a-z_]*\) .*/\1/p' "$source/tests/sql/made_tables.sql"); do sqlite3 run.db "DROP TABLE $table"; done
for report in summary leaks temporary peak hot by-module growth; do mtrace-query $report -n 0 --format csv run.db; done >older
cmp today older && wc -l <today
