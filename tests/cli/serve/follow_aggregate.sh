# A bounded log cannot be followed, as its events go: said in one line, with what to do.
. "$CASES/../lib.sh"
mtrace-record -q --aggregate -o run.dat -- true
complain mtrace-serve --follow run.dat
ls
# expect stdout
#|status 1, lines on stderr 1
#|run.dat
#|run.dat.g1
# expect stderr
#|mtrace-serve: 'run.dat' was recorded with --aggregate, and cannot be followed, because its events are removed while it grows: run mtrace-import -f run.dat repeatedly, and serve the database
