# By leaked bytes every command counts what leaks counts: 300 bytes below setlocale are suppressed.
. "$CASES/../fixture.sh"
mtrace-query leaks run.db --csv --process 1 | awk -F, 'NR > 1 { sum += $2 } END { print sum }'
mtrace-query tree run.db --measure leaked --process 1 | head -1
mtrace-query export run.db --to flamegraph.pl --measure leaked --process 1 | awk '{ sum += $NF } END { print sum }'
cp run.db b.db
sqlite3 b.db 'DELETE FROM backtrace_totals; DELETE FROM suppressed_stacks'
mtrace-query diff run.db b.db --process 1 --csv | cut -d, -f1-7
mtrace-query diff b.db run.db --process 1 | head -1
