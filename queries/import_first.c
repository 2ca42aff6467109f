/* SPDX-License-Identifier: MIT */
#include "queries/import_first.h"

#include "support/error.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char log_suffix[] = ".dat";
static const char importer[] = "mtrace-import";

extern char **environ;

bool import_first_is_log(const char *path)
{
    size_t length = strlen(path);

    return length > strlen(log_suffix)
           && strcmp(path + length - strlen(log_suffix), log_suffix) == 0;
}

static bool is_current(const char *database_path, const struct stat *log)
{
    struct stat database;

    if (stat(database_path, &database) != 0)
        return false;
    return database.st_mtim.tv_sec > log->st_mtim.tv_sec
           || (database.st_mtim.tv_sec == log->st_mtim.tv_sec
               && database.st_mtim.tv_nsec >= log->st_mtim.tv_nsec);
}

/* The program beside this one; its bare name, to be looked for in PATH, when there is none. */
static void find_importer(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash && (size_t)(slash + 1 - path) + sizeof(importer) <= size) {
        memcpy(slash + 1, importer, sizeof(importer));
        if (access(path, X_OK) == 0)
            return;
    }
    memcpy(path, importer, sizeof(importer));
}

static int run_importer(const char *log_path, const char *database_path, struct error *err)
{
    char program[PATH_MAX];
    char force[] = "--force";
    char *const arguments[] = {program, force, (char *)(uintptr_t)log_path,
                               (char *)(uintptr_t)database_path, NULL};
    pid_t pid;
    int status;
    int rc;

    find_importer(program, sizeof(program));
    rc = posix_spawnp(&pid, program, NULL, NULL, arguments, environ);
    if (rc != 0)
        return error_set_errno(err, rc, "cannot run '%s' to import '%s'", program, log_path);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return error_set_errno(err, errno, "cannot wait for '%s'", program);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, ERROR_EXEC, "'%s' was not imported", log_path);
    return 0;
}

int import_first_run(const char *log_path, char *ret_path, size_t size, struct error *err)
{
    struct stat log;
    int length = (int)(strlen(log_path) - strlen(log_suffix));

    if (stat(log_path, &log) != 0)
        return error_set_errno(err, errno, "cannot open '%s'", log_path);
    if (snprintf(ret_path, size, "%.*s.db", length, log_path) >= (int)size)
        return error_set(err, ERROR_USAGE, "the name '%.200s' is too long", log_path);
    if (is_current(ret_path, &log))
        return 0;
    (void)fprintf(stderr, "importing %s to %s\n", log_path, ret_path);
    return run_importer(log_path, ret_path, err);
}
