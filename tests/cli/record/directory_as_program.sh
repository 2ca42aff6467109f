. "$CASES/../lib.sh"
complain mtrace-record -o run.dat -- /tmp
ls
# expect stdout
#|status 126, lines on stderr 1
# expect stderr
#|mtrace-record: cannot run '/tmp': it is a directory
