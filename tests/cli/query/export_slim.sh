# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
sqlite3 run.db "INSERT OR REPLACE INTO meta VALUES ('slim', 1)"
for format in json heaptrack dhat massif; do
    mtrace-query export --to "$format" --process 1 run.db || echo "$format: $?"
done
mtrace-query export --to flamegraph.pl --process 1 run.db | wc -l
