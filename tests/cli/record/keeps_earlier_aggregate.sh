# An earlier --aggregate recording is renamed with its checkpoint and its rotated files, and can still be imported.
. "$CASES/../lib.sh"
cat >program.c <<'EOF'
#include "tests/cli/wait_for_state.h"
int main(void)
{
    return !wait_for_state();
}
EOF
record_with_states
mtrace-import run.dat before.db 2>/dev/null
mtrace-record -q --aggregate -o run.dat -- true
ls run.dat.state run.dat.old run.dat.old.state 2>/dev/null || :
mtrace-import run.dat.old after.db 2>/dev/null
for database in before.db after.db; do
    mtrace-query summary $database --csv 2>/dev/null
done | sed 's/before.db\|after.db//' | sort | uniq -c | awk '{ print $1 }' | sort -u
# expect stdout
#|run.dat.old
#|run.dat.old.state
#|2
