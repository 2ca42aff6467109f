. "$CASES/../lib.sh"
complain mtrace-record -o run.dat -- ./none
ls
