. "$CASES/../lib.sh"
make_log
mkdir out.db
complain mtrace-import --force run.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|out.db
#|run.dat
# expect stderr
#|mtrace-import: 'out.db' is not a regular file; name another target
