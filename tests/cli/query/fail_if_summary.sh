. "$CASES/../fixture.sh"
mtrace-query run.db --fail-if "leaked_bytes > 500" --format csv >rows.csv || echo "status $?"
wc -l <rows.csv
mtrace-query run.db --fail-if "leaked_bytes > 1e9"
# expect stdout
#|status 3
#|2
#|                                            realloc
#|process  executable  pid  allocated  freed   copied  peak  leaked  suppressed  temporary  rounding
#|68 more columns: --wide
