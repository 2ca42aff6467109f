. "$CASES/../fixture.sh"
mtrace-query leaks run.db --process 9
