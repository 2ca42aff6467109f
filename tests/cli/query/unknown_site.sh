. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
complain mtrace-query groups run.db --site 9999
complain mtrace-query leaks run.db --site 9999 --format json
complain mtrace-query hot run.db --process 9999
