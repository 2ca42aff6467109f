# An unrelated file with the name of a checkpoint is ignored beside a plain log. Beside a bounded log the import reports what is wrong with
# it.
. "$CASES/../lib.sh"
make_log
echo "my notes" >run.dat.state
mtrace-import --no-symbols run.dat run.db >/dev/null 2>&1 && ls run.db
rm run.dat.state
mtrace-record -q -f --aggregate -o run.dat -- sh -c 'exit 0'
echo "my notes" >run.dat.state
complain mtrace-import -f --no-symbols run.dat run.db
complain mtrace-import -f --no-symbols run.dat.live run.db
# expect stdout
#|run.db
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-import: the checkpoint 'run.dat.state' of this log (--aggregate) cannot be read: 'run.dat.state' is not a checkpoint of a log; if it is renamed to 'run.dat.state.bad', only later events are imported
#|mtrace-import: the checkpoint 'run.dat.state' of this log (--aggregate) cannot be read: 'run.dat.state' is not a checkpoint of a log; if it is renamed to 'run.dat.state.bad', only later events are imported
