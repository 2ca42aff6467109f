. "$CASES/../fixture.sh"
# 3 and 5 are Session::clone, called from two lines of main: one caller.
mtrace-query callers Session::clone run.db
mtrace-query callers run.db clone --by blocks --measure leaked
mtrace-query callees main run.db --format csv
mtrace-query callees run.db main --sort-by blocks -n 1
mtrace-query callers run.db _start --format json
# clone -> clone -> main -> clone: recursion counts a stack once, and no function is its own caller.
sqlite3 run.db "UPDATE frame_lines SET function_id = 3 WHERE frame_id IN (3, 4)"
mtrace-query callers clone run.db --process 1
mtrace-query callees clone run.db --process 1
# Arguments of templates need not be written.
sqlite3 run.db "UPDATE functions SET name = 'app::Registry<std::vector<int>, 42>::add(int)' WHERE name LIKE 'Session::clone%'"
mtrace-query callers Registry::add run.db
mtrace-query callers 'app::Registry<..>::add' run.db -n 1
