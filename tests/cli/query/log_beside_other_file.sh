# A query of a log never replaces an unrelated file at the name of its database, and never shows another run.
. "$CASES/../lib.sh"
make_log
sqlite3 run.db 'CREATE TABLE precious(a)'
complain mtrace-query run.dat
sqlite3 run.db .tables
echo precious >run.db
complain mtrace-query run.dat
cat run.db
rm run.db
mtrace-query run.dat >first.txt 2>&1
mtrace-query run.dat >again.txt 2>&1
echo "imported again: $(grep -c '^importing' again.txt)"
mtrace-record -o other.dat -- sh -c 'exit 7' 2>other.txt || true
touch -d '2001-01-01' other.dat
mv other.dat run.dat
mtrace-query run.dat 2>importing.txt | grep -o 'exited with status 7'
head -n 1 importing.txt
mtrace-record --report -o mine.dat -- true >reported.txt 2>&1
echo precious >mine.db
rm mine.dat
mtrace-record --report -o mine.dat -- true >reported.txt 2>&1
cat mine.db
# expect stdout
#|status 1, lines on stderr 1
#|precious
#|status 1, lines on stderr 1
#|precious
#|imported again: 0
#|exited with status 7
#|importing run.dat to run.db
#|precious
# expect stderr
#|mtrace-query: 'run.db' exists and is not a database of mtrace; use mtrace-import run.dat and the name of another database
#|mtrace-query: 'run.db' exists and is not a database of mtrace; use mtrace-import run.dat and the name of another database
