/* SPDX-License-Identifier: MIT */
#include "importer/symbols/symbol_cache_prune.h"

#include "lib/base/dynamic_array.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEMPORARY_AGE_S = 24 * 3600
};

struct cache_file {
    char *name;
    uint64_t size_bytes;
    time_t used;
};

struct cache_files {
    struct cache_file *list;
    size_t n, capacity;
    uint64_t size_bytes;
};

static const char ending[] = ".symbols";

/* "ID.symbols" is a cache file, "ID.symbols.XXXXXX" is one being written or left by a killed
 * import. */
static bool is_ours(const char *name, bool *ret_is_temporary)
{
    const char *at = strstr(name, ending);

    *ret_is_temporary = at && at[sizeof(ending) - 1] == '.';
    return at && at != name && (at[sizeof(ending) - 1] == '\0' || *ret_is_temporary);
}

/* Without memory the file is ignored. */
static void add(struct cache_files *files, const char *name, const struct stat *status)
{
    struct cache_file *list =
        dynamic_array_reserve(files->list, &files->capacity, files->n + 1, sizeof(*list));
    char *copy = list ? strdup(name) : NULL;

    if (list)
        files->list = list;
    if (!copy)
        return;
    files->list[files->n++] = (struct cache_file){
        .name = copy, .size_bytes = (uint64_t)status->st_size, .used = status->st_mtime};
    files->size_bytes += (uint64_t)status->st_size;
}

static void read_folder(DIR *folder, time_t max_age_s, time_t now, struct cache_files *files)
{
    const struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        struct stat status;
        bool is_temporary;
        if (!is_ours(entry->d_name, &is_temporary)
            || fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0
            || !S_ISREG(status.st_mode))
            continue;
        if (now - status.st_mtime > (is_temporary ? TEMPORARY_AGE_S : max_age_s))
            unlinkat(dirfd(folder), entry->d_name, 0);
        else if (!is_temporary)
            add(files, entry->d_name, &status);
    }
}

static int compare_use(const void *left, const void *right)
{
    const struct cache_file *a = left;
    const struct cache_file *b = right;

    return (a->used > b->used) - (a->used < b->used);
}

void symbol_cache_prune(const char *dir, uint64_t max_bytes, time_t max_age_s, time_t now)
{
    struct cache_files files = {0};
    DIR *folder = opendir(dir);

    if (!folder)
        return;
    read_folder(folder, max_age_s, now, &files);
    if (files.n > 1)
        qsort(files.list, files.n, sizeof(*files.list), compare_use);
    for (size_t i = 0; i < files.n; i++) {
        if (files.size_bytes > max_bytes) {
            unlinkat(dirfd(folder), files.list[i].name, 0);
            files.size_bytes -= files.list[i].size_bytes;
        }
        free(files.list[i].name);
    }
    free(files.list);
    closedir(folder);
}
