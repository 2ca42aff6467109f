# All images of an --aggregate run share one checkpoint beside the first log. They are imported together; the first or a later log alone is
# refused.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include "tests/cli/wait_for_state.h"

int main(void)
{
    allocate(20000);
    wait_for_state();
    return 0;
}
END
record_with_states env
{ mtrace-import --no-symbols run.dat.*.0 later.db 2>&1 || true; } | sed 's/run[.]dat[.][0-9]*[.]0/LATER/g'
complain mtrace-import --only --no-symbols run.dat run.db
mtrace-import --no-symbols run.dat run.db 2>/dev/null
mtrace-query --format csv run.db sql "SELECT count(*) AS images, max(executable LIKE '%/program') AS has_program FROM processes"
mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) >= 20000 AS has_all, sum(allocated_blocks) - sum(freed_blocks) < 1000 AS has_few FROM backtrace_totals"
mkdir away
mv run.dat.*.0 away
complain mtrace-import --no-symbols run.dat less.db
# expect stdout
#|mtrace-import: 'LATER' was recorded with --aggregate: its totals are included in those of 'run.dat'; import that
#|Try 'mtrace-import --help' for more information.
#|status 2, lines on stderr 2
#|images,has_program
#|2,1
#|has_all,has_few
#|1,1
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-import: 'run.dat' was recorded with --aggregate: its totals cover all its processes, so --only cannot be used
#|Try 'mtrace-import --help' for more information.
#|mtrace-import: 1 of the 2 logs of this run (exec successors and children) are missing or cannot be read: the checkpoint covers all of them, so put them back beside 'run.dat'
