. "$CASES/../lib.sh"
complain mtrace-record -o run.dat -- ./none
ls
# expect stdout
#|status 127, lines on stderr 1
# expect stderr
#|mtrace-record: './none' does not exist
