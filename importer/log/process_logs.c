/* SPDX-License-Identifier: MIT */
#include "importer/log/process_logs.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/logfile/log_rotation.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t without_pool_suffix(const char *path, size_t n)
{
    size_t n_suffix = sizeof(PROCESS_LOGS_POOL_SUFFIX) - 1;
    return n > n_suffix && memcmp(path + n - n_suffix, PROCESS_LOGS_POOL_SUFFIX, n_suffix) == 0
               ? n - n_suffix
               : n;
}

/* n without ".<digits>" at the end, or n. */
static size_t without_number(const char *path, size_t n)
{
    size_t at = n;

    while (at > 0 && isdigit((unsigned char)path[at - 1]))
        at--;
    return at < n && at > 1 && path[at - 1] == '.' && path[at - 2] != '/' ? at - 1 : n;
}

size_t process_logs_first_bytes(const char *path)
{
    size_t n = without_pool_suffix(path, strlen(path));
    size_t image = without_number(path, n);
    size_t pid = without_number(path, image);

    return image < n && pid < image ? pid : n;
}

static bool is_member(const char *name, const char *first, size_t n_first)
{
    return strncmp(name, first, n_first) == 0 && name[n_first] == '.'
           && process_logs_first_bytes(name) == n_first
           && without_pool_suffix(name, strlen(name)) > n_first;
}

static int add(struct process_logs *logs, const char *path, int folder_bytes, const char *name)
{
    char **paths = dynamic_array_reserve(logs->paths, &logs->capacity, logs->n + 1, sizeof(char *));

    if (!paths)
        return ERROR_NOMEM;
    logs->paths = paths;
    if (asprintf(&paths[logs->n], "%.*s%s", folder_bytes, path, name) < 0)
        return ERROR_NOMEM;
    logs->n++;
    return 0;
}

static int compare_paths(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int process_logs_find(const char *path, struct process_logs *ret)
{
    const char *slash = strrchr(path, '/');
    int folder_bytes = slash ? (int)(slash - path) + 1 : 0;
    size_t n_first = process_logs_first_bytes(path) - (size_t)folder_bytes;
    char *folder_path = slash ? strndup(path, (size_t)folder_bytes) : strdup(".");
    DIR *folder = folder_path ? opendir(folder_path) : NULL;
    const struct dirent *entry;
    int r = folder_path ? 0 : ERROR_NOMEM;

    memset(ret, 0, sizeof(*ret));
    while (r == 0 && folder && (entry = readdir(folder)))
        if (is_member(entry->d_name, path + folder_bytes, n_first))
            r = add(ret, path, folder_bytes, entry->d_name);
    if (folder)
        closedir(folder);
    free(folder_path);
    if (ret->n > 1)
        qsort(ret->paths, ret->n, sizeof(char *), compare_paths);
    return r;
}

void process_logs_done(struct process_logs *logs)
{
    for (size_t i = 0; i < logs->n; i++)
        free(logs->paths[i]);
    free(logs->paths);
}

bool process_logs_is_live(const char *path)
{
    return process_logs_packed_bytes(path) < strlen(path);
}

size_t process_logs_packed_bytes(const char *path)
{
    return without_pool_suffix(path, strlen(path));
}

char *process_logs_packed_path(const char *path)
{
    return strndup(path, process_logs_packed_bytes(path));
}

char *process_logs_checkpoint_path(const char *path)
{
    char *first = strndup(path, process_logs_first_bytes(path));
    char *state = first ? log_rotation_state_name(first) : NULL;

    free(first);
    return state;
}
