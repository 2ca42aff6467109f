/* SPDX-License-Identifier: MIT */
/*
 * plugin_steps STEP…: does with plugins what the steps say, one after the other:
 *   copy FROM TO      a new file            move FROM TO      rename(2)
 *   remove PATH       unlink(2)             write PATH TEXT   in place of what is there
 *   open N PATH       dlopen                close N           dlclose
 *   call N            plugin_leak of plugin N, which leaks one block of OWN_BYTES(N)
 *   fork              the child goes on, and this process waits for it
 *   held PATH         waits until the parent process has the file open
 *   kill              of this process by SIGKILL
 */
#include "tests/workloads/workload.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum {
    MAX_PLUGINS = 100
};

static void *plugins[MAX_PLUGINS];

static void must(int is_done, const char *step)
{
    if (is_done)
        return;
    fprintf(stderr, "%s: failed\n", step);
    exit(1);
}

static void copy(const char *from, const char *to)
{
    char bytes[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    ssize_t n;

    must(in >= 0 && out >= 0, "copy");
    while ((n = read(in, bytes, sizeof(bytes))) > 0)
        must(write(out, bytes, (size_t)n) == n, "copy");
    close(in);
    close(out);
}

static void overwrite(const char *path, const char *text)
{
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    must(write(out, text, strlen(text)) == (ssize_t)strlen(text), "write");
    close(out);
}

static void call(unsigned n)
{
    void (*leak)(size_t) = (void (*)(size_t))dlsym(plugins[n], "plugin_leak");

    must(leak != NULL, "call");
    leak(OWN_BYTES(n));
    own_count_alloc(OWN_BYTES(n));
}

static void fork_off(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        return;
    waitpid(child, &status, 0);
    exit(WEXITSTATUS(status));
}

static int has_open(pid_t pid, const char *path)
{
    char folder[64];
    char wanted[PATH_MAX];
    char found[PATH_MAX];
    const struct dirent *entry;
    int is_open = 0;
    DIR *list;

    snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
    list = opendir(folder);
    must(list != NULL && realpath(path, wanted) != NULL, "held");
    while (!is_open && (entry = readdir(list)) != NULL) {
        ssize_t n = readlinkat(dirfd(list), entry->d_name, found, sizeof(found) - 1);
        found[n > 0 ? n : 0] = 0;
        is_open = strcmp(found, wanted) == 0;
    }
    closedir(list);
    return is_open;
}

static void wait_held(const char *path)
{
    int n = 0;

    while (!has_open(getppid(), path)) {
        must(++n < 20000, "held");
        usleep(1000);
    }
}

static unsigned number(const char *text)
{
    unsigned n = (unsigned)atoi(text);

    must(n < MAX_PLUGINS, "number");
    return n;
}

static char **step(char **at)
{
    if (!strcmp(*at, "copy")) {
        copy(at[1], at[2]);
        return at + 3;
    }
    if (!strcmp(*at, "move")) {
        must(rename(at[1], at[2]) == 0, "move");
        return at + 3;
    }
    if (!strcmp(*at, "write")) {
        overwrite(at[1], at[2]);
        return at + 3;
    }
    if (!strcmp(*at, "remove")) {
        must(unlink(at[1]) == 0, "remove");
        return at + 2;
    }
    if (!strcmp(*at, "open")) {
        plugins[number(at[1])] = dlopen(at[2], RTLD_NOW | RTLD_LOCAL);
        must(plugins[number(at[1])] != NULL, "open");
        return at + 3;
    }
    if (!strcmp(*at, "held")) {
        wait_held(at[1]);
        return at + 2;
    }
    if (!strcmp(*at, "close")) {
        must(dlclose(plugins[number(at[1])]) == 0, "close");
        return at + 2;
    }
    if (!strcmp(*at, "call")) {
        call(number(at[1]));
        return at + 2;
    }
    if (!strcmp(*at, "kill"))
        kill(getpid(), SIGKILL);
    must(!strcmp(*at, "fork"), *at);
    fork_off();
    return at + 1;
}

int main(int argc, char **argv)
{
    (void)argc;
    for (char **at = argv + 1; *at;)
        at = step(at);
    return 0;
}
