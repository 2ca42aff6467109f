. "$CASES/../lib.sh"
make_database
complain mtrace-query leeks run.db
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: unknown command 'leeks'; did you mean leaks?
#|Try 'mtrace-query --help'.
