. "$CASES/../lib.sh"
complain mtrace-import --no-such-option run.dat
