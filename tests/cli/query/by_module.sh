. "$CASES/../fixture.sh"
mtrace-query by-module run.db
