# The recorder names processes that it recorded only in part or not at all: a running daemon, a child of another user, a static one, and an
# exec of a static program.
. "$CASES/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "skipped: becoming another user needs root"; exit 77; }
cat >program.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(void)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(100));
}

static int in_child(const char *what)
{
    if (*what == 'u' && setuid(65534) != 0)
        return 1;
    work();
    if (*what == 's')
        execl("./static", "static", (char *)NULL);
    return 0;
}

int main(int argc, char **argv)
{
    pid_t pid;

    (void)argc;
    if (*argv[1] == 'd') {
        if (daemon(1, 0) != 0)
            return 1;
        work();
        sleep(2);
        return 0;
    }
    pid = *argv[1] == 'v' ? vfork() : fork();
    if (pid == 0 && *argv[1] == 'v') {
        execl("./static", "static", (char *)NULL);
        _exit(1);
    }
    if (pid == 0)
        _exit(in_child(argv[1]));
    waitpid(pid, NULL, 0);
    return 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c
printf 'int main(void) { return 0; }\n' >static.c
gcc -static -o static static.c 2>/dev/null || { echo "skipped: no static C library"; exit 77; }
for what in daemon user static vfork; do
    complain mtrace-record --follow-children -o $what.dat -- ./program $what
done
# expect stdout
#|status 0, lines on stderr 3
#|status 0, lines on stderr 3
#|status 0, lines on stderr 2
#|status 0, lines on stderr 3
# expect stderr glob
#|mtrace-record: no allocation of './program' was recorded: *
#|mtrace-record: still running: * (program) (*
#|mtrace-record: daemon.dat: *
#|mtrace-record: no allocation of './program' was recorded: *
#|mtrace-record: not recorded: * (it has no permission to create a log next to FILE*
#|mtrace-record: user.dat: *
#|mtrace-record: recorded only up to an exec: what followed is not: * (program) (*
#|mtrace-record: static.dat and 1 log of child processes: *
#|mtrace-record: no allocation of './program' was recorded: *
#|mtrace-record: not recorded: * (it has no permission to create a log next to FILE*
#|mtrace-record: vfork.dat: *
