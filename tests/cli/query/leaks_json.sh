. "$CASES/../fixture.sh"
mtrace-query leaks run.db --format json -n 2
