. "$CASES/../fixture.sh"
mtrace-query hot run.db
