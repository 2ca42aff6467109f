# An --aggregate log has more phases than the limit for rows, one of them open at the checkpoint: later phases get no rows, but all are
# counted.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include "include/mtrace.h"
#include "tests/cli/wait_for_state.h"

static void phase(const char *name)
{
    struct mtrace_scope scope = mtrace_phase_begin(name);

    allocate(1);
    mtrace_phase_end(scope);
}

int main(void)
{
    struct mtrace_scope scope;
    int n_states = 0;

    for (int i = 0; i < 16400; i++)
        phase("request");
    scope = mtrace_phase_begin("serve");
    while (n_states < 3 && wait_for_state())
        n_states++;
    for (int i = 0; i < 10; i++)
        phase("late");
    mtrace_phase_end(scope);
    return n_states < 3 ? 77 : 0;
}
END
gcc -O0 -fno-builtin -w -I "$CASES/../../.." -o program program.c
status=0
MTRACE_RING_BYTES=32768 mtrace-record -q --aggregate -o run.dat -- ./program || status=$?
[ $status != 77 ] || { echo "skipped: too few states were taken"; exit 77; }
mtrace-import --no-symbols run.dat run.db 2>&1 | grep -v '^run.db:' || true
mtrace-query --format csv run.db sql "SELECT name, count(*) FROM phases GROUP BY name" 2>/dev/null
mtrace-query --format csv run.db sql "SELECT name, phases, allocated_blocks > 20000 AS has_more FROM phase_totals ORDER BY name" 2>/dev/null
mtrace-query --format csv run.db sql "SELECT value FROM meta WHERE key = 'aggregate.left_out.phases'" 2>/dev/null
# expect stdout
#|name,count(*)
#|request,16384
#|name,phases,has_more
#|late,10,0
#|request,16400,0
#|serve,1,1
#|value
#|27
