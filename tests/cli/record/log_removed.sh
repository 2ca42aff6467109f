# A log whose folder is removed while it is recorded is said to be gone; the program's status is what it was.
. "$CASES/../lib.sh"
mkdir logs
complain mtrace-record -o logs/run.dat -- sh -c 'rm -r logs; exit 3'
# expect stdout
#|status 3, lines on stderr 1
# expect stderr glob
#|mtrace-record: 'logs/run.dat' is missing: it or its folder was removed or renamed during the run; * recorded events cannot be found
