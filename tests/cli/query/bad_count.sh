. "$CASES/../fixture.sh"
mtrace-query leaks run.db -n many
