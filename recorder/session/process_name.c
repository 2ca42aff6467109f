/* SPDX-License-Identifier: MIT */
#include "recorder/session/process_name.h"

#include "lib/base/file_io.h"
#include "lib/base/utf8.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KERNEL_NAME_BYTES = 15,
    MAX_LISTED = 20,
    LISTED_BYTES = 64, /* of a command line */
};

/* Reads /proc/PID/file; "" if it cannot be read. Returns the number of bytes. */
static size_t read_file(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];
    size_t n = 0;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && file_io_read(fd, text, size - 1, 0, &n) != 0)
        n = 0;
    if (fd >= 0)
        close(fd);
    text[n] = '\0';
    return n;
}

static bool has_executable(pid_t pid, const char *name)
{
    char path[64];
    char target[PATH_MAX];
    const char *slash;
    size_t n = strlen(name);

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (!file_io_link_target(path, target, sizeof(target)) || !(slash = strrchr(target, '/')))
        return false;
    return strncmp(slash + 1, name, n) == 0
           && (slash[1 + n] == '\0' || strcmp(slash + 1 + n, " (deleted)") == 0);
}

static bool has_name(pid_t pid, const char *name)
{
    char text[KERNEL_NAME_BYTES + 2];
    char first[2];

    if (read_file(pid, "cmdline", first, sizeof(first))
        == 0) /* a zombie, or a thread of the kernel */
        return false;
    (void)read_file(pid, "comm", text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    return strncmp(text, name, KERNEL_NAME_BYTES) == 0 || has_executable(pid, name);
}

static void list(pid_t pid)
{
    char text[LISTED_BYTES];
    size_t n = read_file(pid, "cmdline", text, sizeof(text));

    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    while (n > 0 && text[n - 1] == ' ') /* also padding that a title of the process leaves */
        text[--n] = '\0';
    utf8_clean(text);
    (void)fprintf(stderr, "%10d  %s\n", (int)pid, text);
}

/* Returns how many processes have the name. *ret_pid: the last one. */
static unsigned visit(const char *name, bool is_listing, pid_t *ret_pid)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    unsigned n = 0;

    while (folder && (entry = readdir(folder))) {
        pid_t pid = isdigit((unsigned char)*entry->d_name) ? (pid_t)atoi(entry->d_name) : 0;
        if (pid <= 0 || pid == getpid() || !has_name(pid, name))
            continue;
        n++;
        *ret_pid = pid;
        if (is_listing && n <= MAX_LISTED)
            list(pid);
    }
    if (folder)
        closedir(folder);
    return n;
}

int process_name_find(const char *name, pid_t *ret_pid, struct error *err)
{
    pid_t listed;
    unsigned n = visit(name, false, ret_pid);

    if (n == 1)
        return 0;
    if (n == 0)
        return error_set(err, ERROR_NOT_FOUND, "no process is named '%s'", name);
    (void)visit(name, true, &listed);
    return error_set(err, ERROR_EXISTS,
                     "%u processes are named '%s': give --attach the PID of one of them", n, name);
}
