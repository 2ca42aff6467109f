# A bounded log cannot be followed, because its rotated files are removed: one line says so, with a remedy.
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
