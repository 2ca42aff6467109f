. "$CASES/../fixture.sh"
mtrace-query leaks run.db --format csv --process 1
