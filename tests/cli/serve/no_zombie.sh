# When a followed log is complete, its importer ends and does not stay as a zombie.
. "$CASES/../lib.sh"
make_log
mtrace-serve --follow run.dat >address 2>messages.txt &
server=$!
trap 'kill $server 2>/dev/null || :' EXIT
until [ -s address ] || ! kill -0 $server; do sleep 0.01; done
for round in $(seq 500); do
    [ -n "$(ps -o stat= --ppid $server)" ] || break
    sleep 0.01
done
ps -o stat= --ppid $server || echo "no child is left after the log is complete"
kill $server
wait $server
echo "status $?"
# expect stdout
#|no child is left after the log is complete
#|status 0
