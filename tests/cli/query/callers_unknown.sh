. "$CASES/../fixture.sh"
mtrace-query callers nowhere run.db
