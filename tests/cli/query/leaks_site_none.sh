# A call site that leaks nothing says so.
. "$CASES/../fixture.sh"
mtrace-query leaks run.db --process 3 --site 2
mtrace-query leaks run.db --process 3 --site 2 --csv
