. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
ids --function-regex Session
ids --function-regex "Session|Cache" --ignore operator
ids --source-regex cache
ids --function-regex main --source-regex session
ids --function-regex main --source-regex main
ids --library-regex libwork
ids --negative-source-regex "main|session"
ids --backtrace 4 --backtrace 8
ids --backtrace-depth-max 2
ids --site 3
