. "$CASES/../fixture.sh"
mtrace-query leaks
