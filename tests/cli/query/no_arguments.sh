. "$CASES/../lib.sh"
complain mtrace-query
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: no database is named
#|Try 'mtrace-query --help'.
