. "$CASES/../lib.sh"
make_database
complain mtrace-query leeks run.db
