. "$CASES/../fixture.sh"
mtrace-query leaks run.db --fail-if "leaked_bytes > 500"
