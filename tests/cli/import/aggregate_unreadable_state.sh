# An unreadable checkpoint: the import names it and the remedy. After that, later events are imported and the loss is reported. A log
# without its checkpoint is refused.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include "tests/cli/wait_for_state.h"

int main(void)
{
    wait_for_state(); /* its parts are gone when the next one is there */
    wait_for_state();
    allocate(100000);
    return 0;
}
END
record_with_states
[ ! -e run.dat.g1 ] || { echo "skipped: rings of this build are large"; exit 77; }
mtrace-import --no-symbols run.dat run.db 2>/dev/null
all=$(mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) FROM backtrace_totals" | tail -n 1)
import() {
    complain mtrace-import -f --no-symbols run.dat run.db 2>&1 | sed 's/byte [0-9]*/byte N/; s/g[0-9]* *'"'"'/gN'"'"'/; s/(and [0-9]* more)/(and N more)/; s/^run.db: .*/imported/'
}
mv run.dat.state whole
echo "== a state is missing"
import
echo "== it has other bytes"
cp whole run.dat.state
printf 'nonsense' | dd of=run.dat.state bs=1 seek=4200 conv=notrunc 2>/dev/null
import
echo "== put aside"
mv run.dat.state run.dat.state.bad
import
mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) < $all AS has_less, sum(allocated_blocks) > 0 AS has_some FROM backtrace_totals" 2>/dev/null
rm run.dat.state.bad
echo "== it is empty"
: >run.dat.state
import
echo "== a new recording in place of the old one"
rm run.dat.state
mv whole run.dat.state.bad
mtrace-record -q -f --aggregate -o run.dat -- true
ls run.dat*
# expect stdout
#|== a state is missing
#|mtrace-import: 'run.dat.state' is missing: 'run.dat' was recorded with --aggregate, and its events are in 'run.dat.gN' and 'run.dat.state' beside it; all of these must be in one folder; a checkpoint that cannot be read can be renamed to 'run.dat.state.bad'
#|status 1, lines on stderr 1
#|== it has other bytes
#|mtrace-import: the checkpoint 'run.dat.state' of this log (--aggregate) cannot be read: the checkpoint of the recording is damaged (a checksum); if it is renamed to 'run.dat.state.bad', only later events are imported
#|status 1, lines on stderr 1
#|== put aside
#|mtrace-import: warning: 'run.dat.gN' at byte N: this rotated log (--aggregate) is missing (and N more); events that only they had are lost
#|imported
#|status 0, lines on stderr 2
#|has_less,has_some
#|1,1
#|== it is empty
#|mtrace-import: the checkpoint 'run.dat.state' of this log (--aggregate) cannot be read: 'run.dat.state' is not a checkpoint of a log; if it is renamed to 'run.dat.state.bad', only later events are imported
#|status 1, lines on stderr 1
#|== a new recording in place of the old one
#|run.dat
#|run.dat.g1
