/* SPDX-License-Identifier: MIT */
/*
 * Executes programs with unreadable paths, arguments and variables, and prints how each call ends:
 * by an error, a signal, or a program that runs. Calls that fail come first, and then each in a
 * child.
 */
#include "tests/workloads/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

static char **hole;        /* no memory */
static char **endless;     /* ends in the hole, without NULL */
static char *endless_text; /* without NUL */

static char *good[] = {(char *)"true", NULL};
static char *broken[] = {(char *)"true", NULL, NULL};         /* second: in the hole */
static char *endless_second[] = {(char *)"true", NULL, NULL}; /* second: without NUL */

/* The end of a page that no other follows. */
static char *before_hole(size_t size_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
        abort();
    return pages + page - size_bytes;
}

static void set_up(void)
{
    endless = (char **)(void *)before_hole(3 * sizeof(*endless));
    hole = endless + 3;
    for (int i = 0; i < 3; i++)
        endless[i] = good[0];
    endless_text = memset(before_hole(100), 'x', 100);
    broken[1] = (char *)hole;
    endless_second[1] = endless_text;
}

static int spawned(int error, pid_t pid)
{
    int status = 0;

    if (error != 0 || waitpid(pid, &status, 0) != pid)
        return error;
    return WIFSIGNALED(status) ? 200 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Returns only when it fails. */
static int call(const char *name, const char *path, char **arguments, char **variables)
{
    pid_t pid = 0;

    if (strcmp(name, "execve") == 0)
        execve(path, arguments, variables);
    else if (strcmp(name, "execvpe") == 0)
        execvpe(path, arguments, variables);
    else if (strcmp(name, "execle") == 0)
        execle(path, "true", (char *)NULL, variables);
    else if (strcmp(name, "fexecve") == 0)
        fexecve(open("/bin/true", O_RDONLY), arguments, variables);
    else if (strcmp(name, "execveat") == 0)
        execveat(AT_FDCWD, path, arguments, variables, 0);
    else if (strcmp(name, "execveat_empty") == 0)
        execveat(open("/bin/true", O_RDONLY), "", arguments, variables, AT_EMPTY_PATH);
    else if (strcmp(name, "posix_spawn") == 0)
        return spawned(posix_spawn(&pid, path, NULL, NULL, arguments, variables), pid);
    else if (strcmp(name, "posix_spawnp") == 0)
        return spawned(posix_spawnp(&pid, path, NULL, NULL, arguments, variables), pid);
    else if (environ = variables, strcmp(name, "execv") == 0)
        execv(path, arguments);
    else
        execvp(path, arguments);
    return errno;
}

static void show(const char *name, const char *what, const char *path, char **arguments,
                 char **variables)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(call(name, path, arguments, variables));
    if (waitpid(pid, &status, 0) != pid)
        abort();
    printf("%s, %s: %d\n", name, what,
           WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status));
}

int main(void)
{
    static const char *const names[] = {"execve",         "execvpe",     "execle",       "fexecve",
                                        "execveat_empty", "posix_spawn", "posix_spawnp", "execveat",
                                        "execv",          "execvp"};
    const char *path = "/bin/true";

    own_free(own_malloc(1), 1);
    set_up();
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char **const own = environ;
        printf("%s: %d ", names[i], call(names[i], path, good, hole));
        printf("%d ", call(names[i], path, good, endless));
        printf("%d ", call(names[i], path, good, broken));
        printf("%d\n", call(names[i], path, good, endless_second));
        fflush(stdout);
        environ = own;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        show(names[i], "nothing wrong", path, good, good);
        show(names[i], "no variables", path, good, NULL);
        show(names[i], "variables", path, good, hole);
        show(names[i], "variables before a hole", path, good, endless);
        show(names[i], "one variable", path, good, broken);
        show(names[i], "the end of a variable", path, good, endless_second);
        show(names[i], "no arguments", path, NULL, good);
        show(names[i], "arguments", path, hole, good);
        show(names[i], "one argument", path, broken, good);
        show(names[i], "no path", NULL, good, good);
        show(names[i], "path", (char *)hole, good, good);
        show(names[i], "the end of a path", endless_text, good, good);
    }
    fflush(stdout);
    return 0;
}
