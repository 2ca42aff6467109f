. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --function-regex Session --alive-at 40% --show-sql | tee statement
sqlite3 rows.db < statement | cut -d"|" -f2
# expect stdout
#|SELECT v.process_id, v.allocation_id, v.alloc_ns, v.lifetime_ns, v.size_bytes, v.address, v.kind, v.ended_by, v.backtrace_id, s.function, s.source, s.line, s.module, b.call_site_id FROM (SELECT a.allocation_id FROM allocation_rows AS a CROSS JOIN threads AS h ON h.thread_id = a.thread_id CROSS JOIN processes AS p ON p.process_id = h.process_id WHERE 1 AND a.allocation_id < 12 AND ((a.alloc_ns <= 80000000 AND coalesce(a.alloc_ns + a.lifetime_ns > 80000000, 1))) AND a.backtrace_id IN (SELECT b.backtrace_id FROM backtraces AS b WHERE 1 AND b.backtrace_id IN (SELECT n.backtrace_id FROM json_each('[[3,4],[5,5],[7,7]]') AS r CROSS JOIN backtraces AS n ON n.backtrace_id BETWEEN r.value ->> 0 AND r.value ->> 1)) ORDER BY a.allocation_id LIMIT 21 OFFSET 0) AS f CROSS JOIN allocations AS v ON v.allocation_id = f.allocation_id LEFT JOIN backtraces AS b ON b.backtrace_id = v.backtrace_id LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id;
#|2
#|11
