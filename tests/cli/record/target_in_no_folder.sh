. "$CASES/../lib.sh"
complain mtrace-record -o nowhere/run.dat -- true
