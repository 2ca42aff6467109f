# Recording that is switched off and on after a state was taken: the import goes on from that state, and each window is told of.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Allocates until another state was taken; an exchange of names changes the inode. */
static void wait_for_state(void)
{
    struct stat status = {0};
    ino_t before = stat("run.dat.state", &status) == 0 ? status.st_ino : 0;
    for (int round = 0; round < 400; round++) {
        if (stat("run.dat.state", &status) == 0 && status.st_ino != before)
            return;
        for (int i = 0; i < 20000; i++)
            free(malloc(16 + i % 100));
        usleep(50000);
    }
}

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
    for (int i = 0; i < 100000; i++)
        free(malloc(30));
    tell("start");
    wait_for_state();
    for (int i = 0; i < 1000; i++)
        (void)malloc(777);
    return 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c
MTRACE_RING_BYTES=32768 mtrace-record -q --aggregate -o run.dat -- ./program
[ -e run.dat.state ] || { echo "skipped: no state was taken"; exit 77; }
mtrace-import --no-symbols run.dat run.db >/dev/null 2>&1
mtrace-query --format csv run.db sql "SELECT (SELECT count(*) FROM windows) AS windows, (SELECT sum(leaked_bytes) FROM backtrace_totals) >= 777000 AS has_leak" 2>/dev/null
