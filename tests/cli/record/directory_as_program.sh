. "$CASES/../lib.sh"
complain mtrace-record -o run.dat -- /tmp
ls
