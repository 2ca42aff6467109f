# All images of a --aggregate run have one state, beside the first log: by that they are imported, together. A later one alone is refused, and so is the first one, alone or without the others.
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
