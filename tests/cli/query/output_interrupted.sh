# A signal leaves the file of -o as it was, and nothing beside it.
. "$CASES/../fixture.sh"
echo precious >out.txt
for name in TERM HUP; do
    mtrace-query sql run.db 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' -o out.txt -f &
    while ! ls out.txt.part-* >/dev/null 2>&1; do sleep 0.05; done
    kill -$name $!
    status=0
    wait $! || status=$?
    echo "status $status"
done
cat out.txt
ls
mtrace-query sql run.db 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' --time-limit 50ms
# expect status 1
# expect stdout
#|status 143
#|status 129
#|precious
#|out.txt
#|run.db
# expect stderr
#|mtrace-query: interrupted while reading 'run.db'
#|mtrace-query: interrupted while reading 'run.db'
#|mtrace-query: reading 'run.db' took longer than the time limit allows; narrow the query
