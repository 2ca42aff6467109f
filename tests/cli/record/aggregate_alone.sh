# --aggregate without mtrace-import fails before the program starts. A live report that cannot be made names the missing program.
. "$CASES/../lib.sh"
record=$(command -v mtrace-record)
mkdir bin
cp "$record" bin
ln -s "$(dirname "$(dirname "$record")")/lib" lib
printed() {
    complain "$@" 2>&1 | sed "s,$PWD,HERE,"
}
printed bin/mtrace-record --aggregate -o run.dat -- touch started
ls -d run.dat* started 2>/dev/null || true
cp "$(command -v mtrace-import)" bin
printed bin/mtrace-record -q --report-every 100ms -o run.dat -- sleep 1.5
# expect stdout
#|mtrace-record: --aggregate needs mtrace-import, which takes the events in while they come: 'HERE/bin/mtrace-import' cannot be run: No such file or directory; install it there, beside mtrace-record
#|status 2, lines on stderr 1
#|mtrace-record: report 1 could not be made: 'HERE/bin/mtrace-query' cannot be run: No such file or directory; install it there, beside mtrace-record
#|status 0, lines on stderr 1
