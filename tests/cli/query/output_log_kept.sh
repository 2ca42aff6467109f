# A log is not written over by its own answer, nor is the database that is made of it.
. "$CASES/../lib.sh"
make_database
cp run.db kept.db
complain mtrace-query leaks run.dat -o run.dat -f
complain mtrace-query leaks run.dat -o run.db -f
cmp run.db kept.db && mtrace-import run.dat again.db 2>/dev/null && ls
