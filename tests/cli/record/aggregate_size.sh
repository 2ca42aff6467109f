# The reported size of a bounded log includes all of its files, also when files of ended processes are replaced.
. "$CASES/../lib.sh"
check() {
    size=$(cat run.dat run.dat.* | wc -c | awk '{ printf $1 < 1048576 ? "%.1f KiB" : "%.1f MiB", $1 / ($1 < 1048576 ? 1024 : 1048576) }')
    grep -q "run.dat.*: $size," closing.txt && echo "all of it" || { echo "$size"; cat closing.txt; }
}
mtrace-record -o run.dat --aggregate -- sh -c 'exit 0' 2>closing.txt
ls
check
cat >program.c <<'END'
#include <stdlib.h>
#include <unistd.h>

enum { N = 100000 };

int main(void)
{
    static void *blocks[N];

    for (int i = 0; i < N; i++)
        blocks[i] = malloc(16 + rand() % 1000);
    usleep(300000);
    for (int i = 0; i < N; i++)
        free(blocks[i]);
    return 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c
MTRACE_RING_BYTES=1000000 mtrace-record -f -o run.dat --aggregate --follow-children -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ./program; done; :' 2>closing.txt
check
# expect stdout
#|closing.txt
#|run.dat
#|run.dat.g1
#|all of it
#|all of it
