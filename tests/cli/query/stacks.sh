# The stack of each row, as stock sqlite3 reads it, too: of a call site the one that weighs most in what the command is about.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
mtrace-query leaks run.db --stacks -n 2
mtrace-query leaks run.db --site 2 --stacks
mtrace-query peak run.db --stacks --process 1 -n 1 --wide
mtrace-query hot run.db --stacks --json -n 1
mtrace-query leaks-by-stack run.db --stacks --csv -n 3
mtrace-query leaks-by-stack run.db --stacks --csv --fail-if 'leaked_bytes = 600' || echo "status $?"
# What stock sqlite3 finds, by another way: no row differs.
mtrace-query leaks run.db --stacks --csv -n 0 >leaks.csv
sqlite3 -csv run.db ".import --csv leaks.csv said" "
    SELECT count(*), count(stack) FROM said;
    SELECT * FROM said JOIN stack_texts AS x USING (backtrace_id) WHERE x.stack <> said.stack;
    SELECT said.process_id, said.call_site_id, said.backtrace_id, t.backtrace_id FROM said
    JOIN backtraces AS b ON b.call_site_id = said.call_site_id
    JOIN backtrace_totals AS t ON t.backtrace_id = b.backtrace_id AND t.process_id = said.process_id
    WHERE t.leaked_bytes > (SELECT m.leaked_bytes FROM backtrace_totals AS m
                            WHERE m.process_id = said.process_id AND m.backtrace_id = said.backtrace_id)
      AND NOT EXISTS (SELECT 1 FROM suppressed_stacks AS s WHERE s.backtrace_id = t.backtrace_id);"
complain mtrace-query threads run.db --stacks
