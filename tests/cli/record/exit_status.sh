# mtrace-record exits with the program's status, 128 + N for signal N, and 126 or 127 as a shell.
. "$CASES/../lib.sh"
status() { code=0; mtrace-record -o "$1.dat" -- sh -c "$2" 2>/dev/null || code=$?; echo "$code"; }
status zero 'exit 0'
status seven 'exit 7'
status term 'kill -TERM $$'
status kill 'kill -KILL $$'
# expect stdout
#|0
#|7
#|143
#|137
