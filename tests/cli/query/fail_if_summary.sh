. "$CASES/../fixture.sh"
mtrace-query run.db --fail-if "leaked_bytes > 500" --format csv | wc -l
mtrace-query run.db --fail-if "leaked_bytes > 1e9"
