# An --aggregate log keeps no phases, pools and objects: the commands refuse, and each answer counts what is missing. Samples are allowed.
. "$CASES/../lib.sh"
cat >program.c <<'END2'
#include "include/mtrace.h"
#include "tests/cli/wait_for_state.h"

int main(void)
{
    uint32_t pool = mtrace_pool_create("slabs");
    char *slab = malloc(100000);

    for (int i = 0; i < 3; i++) {
        struct mtrace_scope scope = mtrace_phase_begin("request");
        mtrace_pool_alloc(pool, slab + 16 * i, 16);
        mtrace_phase_end(scope);
    }
    return wait_for_state() ? 0 : 77;
}
END2
record_with_states
mtrace-import --no-symbols run.dat run.db 2>/dev/null
for command in phases by-pool objects unclaimed claimed-twice spare-capacity object-growth; do
    mtrace-query $command run.db || true
done
mtrace-query --format csv run.db sql "SELECT count(*) FROM phases"
rm run.dat.state # the program waits for another one
MTRACE_RING_BYTES=32768 mtrace-record -q -f --aggregate --sample-bytes 64 -o run.dat -- ./program
mtrace-import -f --no-symbols run.dat run.db 2>/dev/null
mtrace-query --format csv run.db sql "SELECT sample_bytes, (SELECT sum(elided_blocks) FROM backtrace_totals) AS elided,
    (SELECT sum(allocated_blocks) > 20000 FROM backtrace_totals) AS has_most, (SELECT count(*) FROM meta WHERE key = 'aggregate') AS is_aggregate FROM processes" 2>/dev/null
# expect stdout
#|count(*)
#|0
#|sample_bytes,elided,has_most,is_aggregate
#|64,0,1,1
# expect stderr
#|mtrace-query: 'run.db' was recorded with --aggregate, which keeps no phases, pools and objects; record without it
#|mtrace-query: 'run.db' was recorded with --aggregate, which keeps no phases, pools and objects; record without it
#|mtrace-query: 'run.db' was recorded with --aggregate, which keeps no phases, pools and objects; record without it
#|mtrace-query: 'run.db' was recorded with --aggregate, which keeps no phases, pools and objects; record without it
#|mtrace-query: 'run.db' was recorded with --aggregate, which keeps no phases, pools and objects; record without it
#|mtrace-query: 'run.db' was recorded with --aggregate, which keeps no phases, pools and objects; record without it
#|mtrace-query: 'run.db' was recorded with --aggregate, which keeps no phases, pools and objects; record without it
#|mtrace-query: note: the log (--aggregate) had no room for a row for each of these: 3 phases, 3 blocks of pools
