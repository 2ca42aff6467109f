# A log whose folder is removed while it is recorded is said to be gone; the program's status is what it was.
. "$CASES/../lib.sh"
mkdir logs
complain mtrace-record -o logs/run.dat -- sh -c 'rm -r logs; exit 3'
