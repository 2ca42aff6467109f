# A program without build ID was rebuilt after its recording: the import warns that its lines may be wrong.
cat >leak.c <<'END'
#include <stdlib.h>
void *volatile kept;
int main(void)
{
    kept = malloc(4321);
    return 0;
}
END
gcc -g -O0 -Wl,--build-id=none -o leak leak.c
mtrace-record -q -o run.dat -- ./leak
mtrace-import run.dat before.db 2>/dev/null
sqlite3 before.db "SELECT 'before: ' || count(*) FROM objects WHERE path LIKE '%/leak' AND debug_note IS NULL"
sed -i '1i // one line more' leak.c
gcc -g -O0 -Wl,--build-id=none -o leak leak.c
mtrace-import run.dat after.db 2>/dev/null
sqlite3 after.db "SELECT debug_note FROM objects WHERE path LIKE '%/leak'"
touch -d '1 hour' run.dat
mtrace-import run.dat copied.db 2>/dev/null
sqlite3 copied.db "SELECT 'copied: ' || count(*) FROM objects WHERE path LIKE '%/leak' AND debug_note IS NULL"
# expect stdout
#|before: 1
#|'SCRATCH/leak' was changed after the recording and has no build-id: names and lines may be wrong. Bring the recorded file back, and link with -Wl,--build-id
#|copied: 1
