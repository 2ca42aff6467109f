. "$CASES/../fixture.sh"
mtrace-query describe leaks
