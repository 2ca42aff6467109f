. "$CASES/../fixture.sh"
mtrace-query temporary run.db
