# Code without names because too many libraries were loaded is said, above a report and beside a table.
. "$CASES/../lib.sh"
make_database run.db
sqlite3 run.db "UPDATE meta SET value = 5 WHERE key = 'modules.unnamed'"
mtrace-query run.db leaks | sed -n '/libraries/p'
mtrace-query run.db threads --format csv >threads.csv
# expect stdout
#|too many libraries were loaded at the same time: 5 modules without names
# expect stderr
#|mtrace-query: note: too many libraries were loaded at the same time: 5 modules without names
