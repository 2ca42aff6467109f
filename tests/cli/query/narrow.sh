# In a narrow terminal the function gives way, not the line.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1"
COLUMNS=80 mtrace-query leaks run.db -n 2
COLUMNS=62 mtrace-query leaks run.db -n 2
COLUMNS=50 mtrace-query leaks run.db -n 1
