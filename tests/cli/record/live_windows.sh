# An open window has no end in a live report and in an import of a running log; at the end of the process it ends.
. "$CASES/../lib.sh"
cat >program.c <<'EOF'
#include <mtrace.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile g_kept;

int main(void)
{
    g_kept = malloc(10);
    mtrace_report("sql 'SELECT end_ns, started_by, ended_by FROM windows' --csv", 1);
    mtrace_tracking(false);
    mtrace_report("sql 'SELECT started_by, ended_by FROM windows' --csv", 1);
    return 0;
}
EOF
api=$(dirname "$(dirname "$CASES")")
gcc -O0 -fno-builtin -w -I"${api%/tests*}/include" -o program program.c
mtrace-record -q -o run.dat -- ./program
mtrace-import --no-symbols --until-marker 'mtrace report 1' run.dat cut.db 2>/dev/null
mtrace-query sql 'SELECT started_by, ended_by FROM windows' --csv cut.db 2>/dev/null
mtrace-record -q -f -o run.dat -- true
mtrace-import --no-symbols run.dat run.db 2>/dev/null
mtrace-query sql 'SELECT started_by, ended_by FROM windows' --csv run.db
# expect stdout
#|end_ns,started_by,ended_by
#|,start,
#|started_by,ended_by
#|start,program
#|started_by,ended_by
#|start,
#|started_by,ended_by
#|start,end
# expect stderr
#|mtrace-query: note: no allocation was recorded: the program allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
