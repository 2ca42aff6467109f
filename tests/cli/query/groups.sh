. "$CASES/../fixture.sh"
mtrace-query groups run.db
