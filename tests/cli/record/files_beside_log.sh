# Unrelated files beside a log with names of a bounded log's parts are neither removed nor replaced. Parts of an earlier recording are
# removed.
. "$CASES/../lib.sh"
for name in run.dat.state run.dat.g1 run.dat.g12; do
    echo "my notes" >$name
done
mtrace-record -q -o run.dat -- sh -c 'exit 0'
mtrace-record -q -f -o run.dat -- sh -c 'exit 0'
ls
complain mtrace-record -q -f --aggregate -o run.dat -- sh -c 'echo not reached'
rm run.dat.state
complain mtrace-record -q -f --aggregate -o run.dat -- sh -c 'echo not reached'
cat run.dat.g1
rm run.dat.*
mtrace-record -q -f --aggregate -o run.dat -- sh -c 'exit 0'
ls
mtrace-record -q -f -o run.dat -- sh -c 'exit 0'
ls
# expect stdout
#|run.dat
#|run.dat.g1
#|run.dat.g12
#|run.dat.state
#|status 125, lines on stderr 1
#|status 125, lines on stderr 1
#|my notes
#|run.dat
#|run.dat.g1
#|run.dat
# expect stderr
#|mtrace-record: 'SCRATCH/run.dat.state' exists and is no part of a bounded log; choose another name or remove it
#|mtrace-record: 'SCRATCH/run.dat.g1' exists and is no part of a bounded log; choose another name or remove it
