# What leaks are told from is all that is read of the rows; as of an instant their lives, too.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for question in "leaks --from 50%" "leaks --from 50% --at 80%" "growth --from 10%" "timeline --from 50%" "hot --from 50%"; do
    mtrace-query $question rows.db --show-sql 2>&1 | grep allocation_rows
done
