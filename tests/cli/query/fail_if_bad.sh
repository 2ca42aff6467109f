. "$CASES/../fixture.sh"
mtrace-query leaks run.db --fail-if "leeks > 1"
