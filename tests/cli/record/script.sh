# A script starts others: the last line says that they were not recorded, unless they were.
. "$CASES/../lib.sh"
complain mtrace-record -o run.dat -- sh -c 'true & sh -c "exit 0"; wait; exit 0'
complain mtrace-record -o one.dat -- sh -c '/bin/true; exit 0'
complain mtrace-record --follow-children -o followed.dat -- sh -c '/bin/true; exit 0'
