# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
sqlite3 run.db "INSERT OR REPLACE INTO meta VALUES ('slim', 1)"
for format in json heaptrack dhat massif; do
    mtrace-query export --to "$format" --process 1 run.db || echo "$format: $?"
done
mtrace-query export --to flamegraph.pl --process 1 run.db | wc -l
# expect stdout
#|json: 1
#|heaptrack: 1
#|dhat: 1
#|massif: 1
#|7
# expect stderr
#|mtrace-query: 'run.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'run.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'run.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'run.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
