# An existing target stays as it is without --force, and a file of somebody else with it, too.
. "$CASES/../lib.sh"
make_log
echo precious >out.db
complain mtrace-import run.dat out.db
complain mtrace-import --force run.dat out.db
cat out.db
rm out.db
sqlite3 out.db 'CREATE TABLE precious(a)'
complain mtrace-import --force run.dat out.db
sqlite3 out.db .tables
mtrace-import run.dat own.db 2>said.txt
complain mtrace-import run.dat own.db
mtrace-import --force run.dat own.db >said.txt 2>&1
sqlite3 own.db 'SELECT count(*) > 0 FROM processes'
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|precious
#|status 1, lines on stderr 1
#|precious
#|status 1, lines on stderr 1
#|1
# expect stderr
#|mtrace-import: 'out.db' exists; --force replaces it
#|mtrace-import: 'out.db' exists and is not a database of mtrace; name another target or remove it
#|mtrace-import: 'out.db' exists and is not a database of mtrace; name another target or remove it
#|mtrace-import: 'own.db' exists; --force replaces it
