# The log of a running program is imported again at each query, and once more after its end, even if the end is in the log of an exec
# successor.
. "$CASES/../lib.sh"
mkfifo first second
mtrace-record -q -o run.dat -- sh -c 'exec sh -c "read line <first; exec sh -c \"read line <second; exit 5\""' &
recorder=$!
exec 3>first # both wait until a reader opens the pipe
mtrace-query summary run.dat >summary.txt 2>&1
grep -o 'still running' summary.txt | sort -u
echo "imported again: $(mtrace-query summary run.dat 2>&1 | grep -c '^importing')"
echo >&3
exec 3>second
mtrace-query summary run.dat >summary.txt 2>&1
echo >&3
wait "$recorder" || echo "status $?"
mtrace-query summary run.dat >summary.txt 2>&1
echo "imported at the end: $(grep -c '^importing' summary.txt)"
grep -o 'exited with status 5' summary.txt | sort -u
echo "imported again: $(mtrace-query summary run.dat 2>&1 | grep -c '^importing')"
# expect stdout
#|still running
#|imported again: 1
#|status 5
#|imported at the end: 1
#|exited with status 5
#|imported again: 0
