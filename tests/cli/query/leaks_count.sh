. "$CASES/../fixture.sh"
mtrace-query leaks run.db --process 1 -n 1
