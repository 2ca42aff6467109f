. "$CASES/../fixture.sh"
mtrace-query run.db
