. "$CASES/../lib.sh"
complain mtrace-record --no-such-option -- true
