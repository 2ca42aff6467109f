. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
complain mtrace-query leaks rows.db --from 50% --to 20%
complain mtrace-query live rows.db --at 99s
complain mtrace-query allocations rows.db --from 10h
complain mtrace-query fragmentation rows.db --at 200%
complain mtrace-query hot rows.db --to 10h --format csv
