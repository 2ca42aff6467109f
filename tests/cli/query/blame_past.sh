# Functions that only pass memory on: who called them is blamed, at the same id where that place is a call site already.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
mtrace-query leaks run.db --process 1
mtrace-query leaks run.db --process 1 --blame-past Session::clone
mtrace-query leaks run.db --process 1 --blame-past 'Session|main' --csv | cut -d, -f2,3,5,6,7,9
mtrace-query hot run.db --blame-past 'Cache|Session::clone|worker' --stacks -n 2
mtrace-query groups run.db --blame-past Session::clone --site 1 --csv | cut -d, -f1,2,4
mtrace-query hot run.db --blame-past libwork
mtrace-query by-function run.db --blame-past Session::clone --process 1 -n 2
mtrace-query sql "SELECT function, leaked_bytes FROM leaks WHERE process_id = 1 LIMIT 2" run.db --blame-past Session::clone --csv
complain mtrace-query leaks run.db --blame-past nothing_is_called_so
complain mtrace-query leaks run.db --blame-past '('
complain mtrace-query timeline run.db --blame-past main
# Code without names is named as reports print it.
sqlite3 run.db "UPDATE frame_lines SET function_id = NULL, source_id = NULL, line = NULL WHERE frame_id = 3;
UPDATE call_sites SET function_id = NULL, source_id = NULL, line = NULL, object_offset = 0x2100 WHERE call_site_id = 2"
mtrace-query hot run.db --process 1 -n 2
mtrace-query hot run.db --process 1 -n 2 --blame-past 'server\+0x2100'
complain mtrace-query hot run.db --blame-past 'server\+0x2101'
