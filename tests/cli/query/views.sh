. "$CASES/../fixture.sh"
mtrace-query views
