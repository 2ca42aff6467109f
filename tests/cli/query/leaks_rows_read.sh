# What leaks are told from is all that is read of the rows; as of an instant their lives, too.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for question in "leaks --from 50%" "leaks --from 50% --at 80%" "growth --from 10%" "timeline --from 50%" "hot --from 50%"; do
    mtrace-query $question rows.db --show-sql 2>&1 | grep allocation_rows
done
# expect stdout
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.ended_by, a.free_backtrace_id FROM allocation_rows AS a WHERE 1 AND a.allocation_id >= 13;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by, a.free_backtrace_id FROM allocation_rows AS a WHERE 1 AND a.allocation_id >= 13;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by FROM allocation_rows AS a WHERE 1;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by FROM allocation_rows AS a WHERE 1;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by, a.slack_bytes, a.intervening_allocations, a.free_backtrace_id FROM allocation_rows AS a WHERE 1 AND a.allocation_id >= 13;
