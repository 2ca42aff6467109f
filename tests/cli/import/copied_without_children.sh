# A copied log includes only logs of children beside the copy, and names the missing ones. A link to a log includes the logs beside its
# target.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 30000 };

int main(void)
{
    static void *blocks[N];
    int child = fork();

    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < N; i++)
            blocks[i] = malloc(16 + i % 100);
        for (int i = 0; i < N; i++)
            free(blocks[i]);
    }
    return child ? waitpid(child, NULL, 0) != child : 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c
mkdir recorded alone whole linked
import() {
    mtrace-import -f --no-symbols "$1" import.db 2>messages.txt || true
    sed "s/run.dat.[0-9]*\.\([0-9]\)/run.dat.PID.\1/g; s/.*, \([0-9]* process[es]*\), in .*/\1/; s|$PWD|.|g" messages.txt
}
for option in "" --aggregate; do
    MTRACE_RING_BYTES=100000 mtrace-record -f -q $option --follow-children -o recorded/run.dat -- ./program
    rm -f alone/* whole/* linked/*
    cp recorded/run.dat recorded/run.dat.g[0-9]* recorded/run.dat.state alone/ 2>/dev/null || true
    cp recorded/run.dat* whole/
    ln -s ../recorded/run.dat linked/run.dat
    for folder in recorded whole; do
        echo "$folder ${option:-plain}"
        import $folder/run.dat
    done
    [ -n "$option" ] || import linked/run.dat
    echo "alone ${option:-plain}"
    [ -n "$option" ] || import alone/run.dat
done
import alone/run.dat >messages.txt # the checkpoint may exist already, or not
grep -q "(exec successors and children) are missing or cannot be read\|is not beside its parent's" messages.txt && echo "it is said" || cat messages.txt
rm -r recorded
echo "the original is gone"
import whole/run.dat
# expect stdout
#|recorded plain
#|2 processes
#|whole plain
#|2 processes
#|2 processes
#|alone plain
#|mtrace-import: warning: 'alone/run.dat.PID.0' at byte 0: log of a child process is not beside its parent's, or cannot be read
#|1 process
#|recorded --aggregate
#|2 processes
#|whole --aggregate
#|2 processes
#|alone --aggregate
#|it is said
#|the original is gone
#|2 processes
