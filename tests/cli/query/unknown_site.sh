. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
complain mtrace-query groups run.db --site 9999
complain mtrace-query leaks run.db --site 9999 --format json
complain mtrace-query hot run.db --process 9999
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: 'run.db' has no call site 9999; the column site of leaks, peak or hot has them
#|mtrace-query: 'run.db' has no call site 9999; the column site of leaks, peak or hot has them
#|mtrace-query: 'run.db' has no process 9999; mtrace-query processes lists them
