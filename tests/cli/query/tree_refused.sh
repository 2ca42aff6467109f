. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
complain mtrace-query tree run.db --measure live
complain mtrace-query tree run.db --measure much
complain mtrace-query tree run.db --by size
complain mtrace-query tree run.db --min-share 5
complain mtrace-query leaks run.db --measure peak
complain mtrace-query leaks run.db --by blocks
complain mtrace-query leaks run.db --invert
complain mtrace-query flamegraph run.db --format csv
complain mtrace-query flamegraph run.db --function-regex nowhere
