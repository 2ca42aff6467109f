# An existing target stays as it is without --force.
. "$CASES/../lib.sh"
make_log
echo precious >out.db
complain mtrace-import run.dat out.db
cat out.db
mtrace-import --force run.dat out.db >said.txt 2>&1
sqlite3 out.db 'SELECT count(*) > 0 FROM processes'
