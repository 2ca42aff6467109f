# The chart of lifetimes shows its whole scale, including classes without blocks, which have no rows in the table.
. "$CASES/../fixture.sh"
sqlite3 run.db 'DELETE FROM lifetime_classes; INSERT INTO lifetime_classes VALUES (1, 500, 1000, 7, 70), (1, 10000, 20000, 3, 30)'
mtrace-query lifetime-histogram run.db --process 1 --format csv
mtrace-query lifetime-histogram run.db --process 1 -o lifetimes.svg
grep -o '<title>[^<]*</title>' lifetimes.svg
grep -o '>[^<]*[0-9] [num]s<\|>never ended<' lifetimes.svg
# expect stdout
#|process_id,from_ns,to_ns,blocks,bytes,leaked
#|1,500,1000,7,70,0
#|1,10000,20000,3,30,0
#|1,,,14,5050,1
#|<title>server (pid 812)</title>
#|<title>never ended: 14 never ended</title>
#|<title>500 ns: 7 ended after so long</title>
#|<title>10.0 us: 3 ended after so long</title>
#|>500 ns<
#|>1.0 us<
#|>2.0 us<
#|>5.0 us<
#|>10.0 us<
#|>never ended<
#|>never ended<
