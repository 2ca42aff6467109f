# Recording is switched off and on after a checkpoint: the import continues from it and reports each window.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include "tests/cli/wait_for_state.h"

#include <stdio.h>

static void tell(const char *order)
{
    char command[100];
    snprintf(command, sizeof command, "mtrace-record --ctl %d %s >/dev/null", (int)getpid(), order);
    if (system(command) != 0)
        fprintf(stderr, "%s failed\n", command);
}

int main(void)
{
    wait_for_state();
    tell("stop");
    allocate(100000);
    tell("start");
    wait_for_state();
    for (int i = 0; i < 1000; i++)
        (void)malloc(777);
    return 0;
}
END
record_with_states
mtrace-import --no-symbols run.dat run.db >/dev/null 2>&1
mtrace-query --format csv run.db sql "SELECT (SELECT count(*) FROM windows) AS windows, (SELECT sum(leaked_bytes) FROM backtrace_totals) >= 777000 AS has_leak" 2>/dev/null
# expect stdout
#|windows,has_leak
#|2,1
