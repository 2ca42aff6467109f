# A log is not written over by its own answer, nor is the database that is made of it.
. "$CASES/../lib.sh"
make_database
cp run.db kept.db
complain mtrace-query leaks run.dat -o run.dat -f
complain mtrace-query leaks run.dat -o run.db -f
cmp run.db kept.db && mtrace-import run.dat again.db 2>/dev/null && ls
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|again.db
#|kept.db
#|run.dat
#|run.db
# expect stderr
#|mtrace-query: 'run.dat' is what is read; name another file to write
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' is what is read; name another file to write
#|Try 'mtrace-query --help'.
