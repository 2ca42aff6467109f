. "$CASES/../fixture.sh"
mtrace-query tree run.db
mtrace-query tree run.db --process 1 --measure leaked --by blocks
mtrace-query tree run.db --bottom-up --min-share 10%
mtrace-query tree run.db --measure temporary --function-regex worker --format csv
mtrace-query tree run.db --site 2 --format json --min-share 50%
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query tree rows.db --at 45ms
mtrace-query tree rows.db --measure allocated --size-min 200
