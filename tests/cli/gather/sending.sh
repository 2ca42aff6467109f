mtrace-record --send run.dat || true
mtrace-record --insecure true || true
mtrace-record --to nowhere --insecure true || true
mtrace-record --to localhost:1 true || true
mtrace-record --to localhost:1 --insecure --send run.dat true || true
mtrace-record --to localhost:1 --insecure --send-timeout 300ms --send run.dat || true
echo text >run.dat
mtrace-record --to localhost:1 --insecure --send-timeout 300ms --send run.dat
