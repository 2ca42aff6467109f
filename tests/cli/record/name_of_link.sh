# A program that is started by a link has the name of the link, as in ps (redis-server is such a program).
. "$CASES/../lib.sh"
ln -s /bin/sleep nap
mtrace-record -q -o run.dat -- "$PWD/nap" 0
mtrace-import run.dat run.db 2>/dev/null
mtrace-query --format csv sql "SELECT executable LIKE '%/nap' AS is_nap FROM processes" run.db
# expect stdout
#|is_nap
#|1
