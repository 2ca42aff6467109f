# A vfork child that tries several names until an exec succeeds is one process; if all fail it is not listed.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void start(const char *last)
{
    char *const arguments[] = {(char[]){"true"}, NULL};
    pid_t pid = vfork();

    if (pid == 0) {
        for (int i = 0; i < 9; i++)
            execv("/nowhere/true", arguments);
        execv(last, arguments);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}

int main(void)
{
    start("/bin/true");
    start("/nowhere/at/all");
    return malloc(1) ? 0 : 1;
}
END
gcc -O0 -fno-builtin -w -o program program.c
complain mtrace-record -o run.dat -- ./program
complain mtrace-record --follow-children -o followed.dat -- ./program
# expect stdout
#|status 0, lines on stderr 1
#|status 0, lines on stderr 1
# expect stderr glob
#|mtrace-record: run.dat: *; it started 1 process that is not recorded: --follow-children records that, too; next: mtrace-query run.dat
#|mtrace-record: followed.dat and 1 log of child processes: *; next: mtrace-query followed.dat
