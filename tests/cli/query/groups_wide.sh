. "$CASES/../fixture.sh"
mtrace-query groups run.db -w -n 1
