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
# expect stdout
#|1 2 11 12 --function-regex Session
#|3 10 13 14 --function-regex Session|Cache --ignore operator
#|3 10 13 14 --source-regex cache
#|--function-regex main --source-regex session
#|1 2 3 7 8 10 11 12 13 14 15 --function-regex main --source-regex main
#|4 5 6 9 --library-regex libwork
#|4 5 6 9 --negative-source-regex main|session
#|1 2 4 5 6 11 12 --backtrace 4 --backtrace 8
#|4 5 6 7 8 9 15 --backtrace-depth-max 2
#|3 10 13 14 --site 3
