/* SPDX-License-Identifier: MIT */
#include "symbolizer/debug_index.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"
#include "symbolizer/elf_image.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_DEPTH = 32
};

struct debug_index {
    const char *const *dirs;
    pthread_mutex_t lock;
    bool is_scanned; /* protected by lock, as is the rest until it is set */
    struct debug_index_entry *entries;
    size_t n, n_allocated;
};

struct debug_index *debug_index_new(const char *const *dirs)
{
    struct debug_index *index = calloc(1, sizeof(*index));

    if (!index)
        return NULL;
    index->dirs = dirs;
    pthread_mutex_init(&index->lock, NULL);
    return index;
}

void debug_index_free(struct debug_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < index->n; i++) {
        free(index->entries[i].build_id);
        free(index->entries[i].path);
    }
    free(index->entries);
    pthread_mutex_destroy(&index->lock);
    free(index);
}

/* ---- scan ---- */

static void add(struct debug_index *index, const char *build_id, const char *path)
{
    struct debug_index_entry *entries =
        dynamic_array_reserve(index->entries, &index->n_allocated, index->n + 1, sizeof(*entries));
    struct debug_index_entry entry = {0};

    if (!entries)
        return;
    index->entries = entries;
    entry.build_id = strdup(build_id);
    entry.path = strdup(path);
    if (entry.build_id && entry.path) {
        entries[index->n++] = entry;
    } else {
        free(entry.build_id);
        free(entry.path);
    }
}

static void scan_file(struct debug_index *index, const char *path)
{
    struct elf_image image;

    if (!elf_image_open(path, &image))
        return;
    if (image.build_id)
        add(index, image.build_id, path);
    elf_image_close(&image);
}

static void scan_dir(struct debug_index *index, const char *dir, unsigned depth)
{
    DIR *stream = depth < MAX_DEPTH ? opendir(dir) : NULL;
    struct dirent *found;
    struct stat status;
    char path[PATH_MAX];

    while (stream && (found = readdir(stream)) != NULL) {
        const char *name = found->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, ".build-id")
            || (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path)
            || lstat(path, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode))
            scan_dir(index, path, depth + 1);
        else if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode))
            scan_file(index, path);
    }
    if (stream)
        closedir(stream);
}

/* Sorts the files of one build id by path, so that results are reproducible. */
static int compare(const void *a, const void *b)
{
    const struct debug_index_entry *x = a;
    const struct debug_index_entry *y = b;
    int order = strcmp(x->build_id, y->build_id);

    return order ? order : strcmp(x->path, y->path);
}

static void scan(struct debug_index *index)
{
    for (const char *const *dir = index->dirs; dir && *dir; dir++)
        scan_dir(index, *dir, 0);
    if (index->n)
        qsort(index->entries, index->n, sizeof(*index->entries), compare);
}

/* ---- lookup ---- */

const struct debug_index_entry *debug_index_find(struct debug_index *index, const char *build_id,
                                                 size_t *ret_n)
{
    size_t first;
    size_t end;

    *ret_n = 0;
    if (!index || !build_id)
        return NULL;
    pthread_mutex_lock(&index->lock);
    if (!index->is_scanned)
        scan(index);
    index->is_scanned = true;
    pthread_mutex_unlock(&index->lock);
    LOWER_BOUND(first, index->n, strcmp(index->entries[first].build_id, build_id) < 0);
    for (end = first; end < index->n && !strcmp(index->entries[end].build_id, build_id); end++)
        ;
    *ret_n = end - first;
    return index->entries + first;
}
