# An exec keeps the program's environment and the longest argument list that the kernel accepts, and the new image is recorded if recording
# was switched on.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

/* Variables until the kernel takes no more, then one less. */
static int exec_at_the_limit(char **argv)
{
    const struct rlimit stack = {8 << 20, 8 << 20}; /* a quarter is for arguments and variables */
    static char *variables[2049];
    static char text[1024];
    char *arguments[] = {argv[0], (char[]){"count"}, NULL};
    int n = 2048;

    setrlimit(RLIMIT_STACK, &stack);
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "LONG=", 5);
    for (int i = 0; i < n; i++)
        variables[i] = text;
    while (n > 0) {
        variables[--n] = NULL;
        execve("/proc/self/exe", arguments, variables);
    }
    return 2;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "toggle") == 0) {
        raise(SIGUSR1);
        if (!malloc(4777))
            return 1;
        execl("/proc/self/exe", argv[0], "show", (char *)NULL);
        return 1;
    }
    if (strcmp(argv[1], "long") == 0)
        return exec_at_the_limit(argv);
    if (strcmp(argv[1], "count") == 0) {
        int n = 0;
        while (environ[n])
            n++;
        printf("%d\n", n);
    }
    if (strcmp(argv[1], "show") == 0 && malloc(4777))
        for (char **at = environ; *at; at++)
            if (strncmp(*at, "MTRACE_", 7) == 0 || strncmp(*at, "LD_", 3) == 0 || strncmp(*at, "ASAN_", 5) == 0)
                puts(*at);
    return 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c
blocks() {
    mtrace-import "$1.dat" "$1.db" >import.txt 2>&1 || cat import.txt
    mtrace-query sql "SELECT count(*) AS blocks FROM allocations WHERE size_bytes = 4777" "$1.db" --format csv | tail -1
}
ASAN_OPTIONS=color=never mtrace-record -q -o environment.dat -- env LD_PRELOAD=libm.so.6 MTRACE_OUTPUT=mine ./program show
blocks environment
unset ASAN_OPTIONS
mtrace-record -q -o switched.dat --start-disabled -- env ./program toggle twice
blocks switched
[ "$(./program long)" = "$(mtrace-record -q -o long.dat -- ./program long)" ] && echo same
# expect stdout
#|ASAN_OPTIONS=color=never
#|LD_PRELOAD=libm.so.6
#|MTRACE_OUTPUT=mine
#|1
#|2
#|same
# expect stderr
#|mtrace-query: note: 2 processes recorded late, or not all the time: blocks of other times are not included in any number, and blocks that replace them count as new
