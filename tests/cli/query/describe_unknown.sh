. "$CASES/../fixture.sh"
mtrace-query describe leeks
