# A wrapper of malloc with many callers is a poor call site: reports suggest --blame-past with a regex that matches only its name.
. "$CASES/../fixture.sh"
mtrace-query peak run.db --process 1 | grep -c blame-past || true
sqlite3 run.db "UPDATE functions SET name = 'take(int*)' WHERE function_id = (SELECT function_id FROM call_sites WHERE call_site_id = 3);
WITH RECURSIVE n(i) AS (VALUES (200) UNION ALL SELECT i + 2 FROM n WHERE i < 214)
INSERT INTO functions SELECT i, 'caller_' || i, 'caller_' || i FROM n;
INSERT INTO frames SELECT function_id, 1, 0x9000 + function_id, 0 FROM functions WHERE function_id >= 200;
INSERT INTO frame_lines SELECT function_id, 0, function_id, NULL, NULL, NULL FROM functions WHERE function_id >= 200;
INSERT INTO backtraces SELECT function_id, NULL, function_id + 1, function_id, 1, NULL, 'complete' FROM functions WHERE function_id >= 200;
INSERT INTO backtraces SELECT backtrace_id + 1, backtrace_id, backtrace_id + 1, 6, 2, 3, 'complete' FROM backtraces WHERE backtrace_id >= 200"
for command in peak leaks hot; do
    mtrace-query $command run.db --process 1 | sed -n '/blame-past/p'
done
# With a second wrapper one regex matches both.
sqlite3 run.db "INSERT INTO backtraces SELECT backtrace_id + 100, parent_backtrace_id, backtrace_id + 100, 3, 2, 2, 'complete' FROM backtraces WHERE backtrace_id > 200 AND backtrace_id % 2 = 1"
mtrace-query peak run.db --process 1 | sed -n '/blame-past/p'
command=$(mtrace-query peak run.db --process 1 | sed -n 's/^next: \(.*blame-past.*\)/\1/p')
eval "$command" | sed -n "/take\|Session/p"
mtrace-query peak run.db --process 1 --blame-past '^take\(int\*\)$' | grep -c '# ' || true
mtrace-query peak run.db --process 1 --csv | grep -c blame-past || true
# expect stdout
#|0
#|next: mtrace-query peak run.db --blame-past '^take\(int\*\)$'    # 9 functions call take(int*)
#|next: mtrace-query leaks run.db --blame-past '^take\(int\*\)$'    # 9 functions call take(int*)
#|next: mtrace-query hot run.db --blame-past '^take\(int\*\)$'    # 9 functions call take(int*)
#|next: mtrace-query peak run.db --blame-past '^(take\(int\*\)|Session::clone\(int\) const)$'    # 9 functions call take(int*), many call the others
#|next: mtrace-query groups run.db --blame-past '^(take\(int\*\)|Session::clone\(int\) const)$' --site 5
#|0
#|0
