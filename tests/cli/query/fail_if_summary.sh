. "$CASES/../fixture.sh"
mtrace-query run.db --fail-if "leaked_bytes > 500" --format csv >rows.csv || echo "status $?"
wc -l <rows.csv
mtrace-query run.db --fail-if "leaked_bytes > 1e9"
