# The chart of lifetimes has a scale: classes without blocks, which are rows of no table, are steps of it.
. "$CASES/../fixture.sh"
sqlite3 run.db 'DELETE FROM lifetime_classes; INSERT INTO lifetime_classes VALUES (1, 500, 1000, 7, 70), (1, 10000, 20000, 3, 30)'
mtrace-query lifetime-histogram run.db --process 1 --format csv
mtrace-query lifetime-histogram run.db --process 1 -o lifetimes.svg
grep -o '<title>[^<]*</title>' lifetimes.svg
grep -o '>[^<]*[0-9] [num]s<\|>never ended<' lifetimes.svg
