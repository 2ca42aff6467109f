. "$CASES/../fixture.sh"
mtrace-query unwind-quality run.db
