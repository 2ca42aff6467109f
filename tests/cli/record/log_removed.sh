# If the folder of the log is removed during the recording, the recorder reports it; the program's exit status is unchanged.
. "$CASES/../lib.sh"
mkdir logs
complain mtrace-record -o logs/run.dat -- sh -c 'rm -r logs; exit 3'
# expect stdout
#|status 3, lines on stderr 1
# expect stderr glob
#|mtrace-record: 'logs/run.dat' is missing: it or its folder was removed or renamed during the run; * recorded events cannot be found
