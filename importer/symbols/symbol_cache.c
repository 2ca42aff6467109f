/* SPDX-License-Identifier: MIT */
#include "importer/symbols/symbol_cache.h"

#include "lib/base/dynamic_array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- store ---- */

void symbol_store_done(struct symbol_store *store)
{
    free(store->levels);
    free(store->name_of_raw);
    intern_done(&store->raw_names);
    intern_done(&store->names);
    intern_done(&store->sources);
    memset(store, 0, sizeof(*store));
}

static bool grow_levels(struct symbol_store *store, size_t n_more)
{
    struct symbol_level *levels =
        store->n_levels + n_more < SYMBOL_NONE
            ? dynamic_array_reserve(store->levels, &store->n_levels_allocated,
                                    store->n_levels + n_more + 1, sizeof(*levels))
            : NULL;

    if (levels)
        store->levels = levels;
    return levels != NULL;
}

static bool keep_name(struct symbol_store *store, uint32_t raw, const char *name)
{
    uint32_t *names = dynamic_array_reserve(store->name_of_raw, &store->n_raw_allocated,
                                            (size_t)raw + 1, sizeof(*names));
    int64_t number;

    if (!names)
        return false;
    store->name_of_raw = names;
    number = intern_add(&store->names, name, strlen(name));
    names[raw] = (uint32_t)number;
    return number >= 0;
}

bool symbol_store_add_function(struct symbol_store *store, const char *raw_name, const char *name,
                               uint32_t *ret_function)
{
    uint32_t n_before = store->raw_names.n_strings;
    int64_t raw = intern_add(&store->raw_names, raw_name, strlen(raw_name));

    *ret_function = (uint32_t)raw;
    return raw >= 0 && (raw != n_before || keep_name(store, n_before, name));
}

static bool fill_level(struct symbol_store *store, struct symbol_level *level,
                       const struct symbolizer_level *found)
{
    int64_t source = SYMBOL_NONE;

    *level = (struct symbol_level){
        .function = SYMBOL_NONE, .line = found->line, .column = found->column};
    if (found->source)
        source = intern_add(&store->sources, found->source, strlen(found->source));
    level->source = (uint32_t)source;
    if (source < 0)
        return false;
    return !found->raw_name
           || symbol_store_add_function(store, found->raw_name, found->function, &level->function);
}

bool symbol_store_add(struct symbol_store *store, const struct symbolizer_level *levels,
                      size_t n_levels, struct symbol_span *ret_span)
{
    if (!grow_levels(store, n_levels))
        return false;
    for (size_t i = 0; i < n_levels; i++)
        if (!fill_level(store, &store->levels[store->n_levels + i], &levels[i]))
            return false;
    *ret_span = (struct symbol_span){.first_level = (uint32_t)store->n_levels,
                                     .n_levels = (uint32_t)n_levels};
    store->n_levels += n_levels;
    return true;
}

static const char magic[8] = "mtrsym\n";

enum {
    /* Increase when the symbolizer's answers or the file format change. */
    CACHE_VERSION = 4,
    LARGEST_FILE = 1 << 30
};

/* After the header: the positions, the levels, name_of_raw, and the strings, each with its NUL: the
 * identity, raw names, names, sources. */
struct header {
    char magic[8];
    uint32_t version;
    uint32_t n_positions;
    uint32_t n_levels;
    uint32_t n_raw_names;
    uint32_t n_names;
    uint32_t n_sources;
    uint64_t checksum; /* of all after the header, seeded with the header's numbers */
};

struct reader {
    const struct header *header;
    const struct symbol_cache_position *positions;
    const struct symbol_level *levels;
    const uint32_t *name_of_raw;
    const char *strings;
    const char *end;
};

static bool file_path(const char *dir, const char *build_id, char *ret_path, size_t size)
{
    size_t length = (size_t)snprintf(ret_path, size, "%s/%s.symbols", dir, build_id);

    return length < size && *build_id && !strchr(build_id, '/');
}

static uint64_t checksum_of(const struct header *header, const void *body, size_t size)
{
    uint64_t seed = XXH3_64bits(header, offsetof(struct header, checksum));

    return XXH3_64bits_withSeed(body, size, seed);
}

/* ---- reading ---- */

static char *read_file(const char *path, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    char *bytes = NULL;
    size_t n_read = 0;
    ssize_t n = 1;

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size < LARGEST_FILE)
        bytes = malloc((size_t)status.st_size + 1);
    while (bytes && n > 0 && n_read < (size_t)status.st_size) {
        n = read(fd, bytes + n_read, (size_t)status.st_size - n_read);
        n_read += n > 0 ? (size_t)n : 0;
    }
    (void)futimens(fd, NULL); /* marks the use for symbol_cache_prune */
    close(fd);
    *ret_size = n_read;
    return bytes;
}

/* The next string, or NULL after the last. */
static const char *next_string(struct reader *reader)
{
    const char *text = reader->strings;
    const char *nul = memchr(text, '\0', (size_t)(reader->end - text));

    if (!nul)
        return NULL;
    reader->strings = nul + 1;
    return text;
}

static bool lay_out(struct reader *reader, const char *bytes, size_t size)
{
    const struct header *header = (const void *)bytes;
    const char *body = bytes + sizeof(*header);
    uint64_t tables;

    if (size < sizeof(*header) || memcmp(header->magic, magic, sizeof(magic)) != 0
        || header->version != CACHE_VERSION)
        return false;
    tables = header->n_positions * (uint64_t)sizeof(*reader->positions)
             + header->n_levels * (uint64_t)sizeof(*reader->levels)
             + header->n_raw_names * (uint64_t)sizeof(*reader->name_of_raw);
    if (tables > size - sizeof(*header)
        || checksum_of(header, body, size - sizeof(*header)) != header->checksum)
        return false;
    reader->header = header;
    reader->positions = (const void *)body;
    reader->levels = (const void *)(reader->positions + header->n_positions);
    reader->name_of_raw = (const void *)(reader->levels + header->n_levels);
    reader->strings = (const char *)(reader->name_of_raw + header->n_raw_names);
    reader->end = bytes + size;
    return true;
}

/* The checksum detects damage; this check detects a file that was crafted. */
static bool is_within(const struct reader *reader)
{
    const struct header *header = reader->header;

    for (uint32_t i = 0; i < header->n_positions; i++) {
        struct symbol_span span = reader->positions[i].span;
        if (span.n_levels == 0 || span.first_level > header->n_levels
            || span.n_levels > header->n_levels - span.first_level)
            return false;
    }
    for (uint32_t i = 0; i < header->n_levels; i++) {
        const struct symbol_level *level = &reader->levels[i];
        if ((level->function != SYMBOL_NONE && level->function >= header->n_raw_names)
            || (level->source != SYMBOL_NONE && level->source >= header->n_sources))
            return false;
    }
    for (uint32_t i = 0; i < header->n_raw_names; i++)
        if (reader->name_of_raw[i] >= header->n_names)
            return false;
    return true;
}

static bool fill_intern(struct reader *reader, uint32_t n_strings, struct intern *intern)
{
    for (uint32_t i = 0; i < n_strings; i++) {
        const char *text = next_string(reader);
        if (!text || intern_add(intern, text, strlen(text)) != i)
            return false;
    }
    return true;
}

static void *copy(const void *from, size_t size)
{
    void *to = malloc(size + !size);

    return to ? memcpy(to, from, size) : NULL;
}

static bool fill_store(struct reader *reader, struct symbol_store *store)
{
    const struct header *header = reader->header;

    if (!fill_intern(reader, header->n_raw_names, &store->raw_names)
        || !fill_intern(reader, header->n_names, &store->names)
        || !fill_intern(reader, header->n_sources, &store->sources))
        return false;
    store->levels = copy(reader->levels, header->n_levels * sizeof(*reader->levels));
    store->name_of_raw = copy(reader->name_of_raw, header->n_raw_names * sizeof(uint32_t));
    if (!store->levels || !store->name_of_raw)
        return false;
    store->n_levels = store->n_levels_allocated = header->n_levels;
    store->n_raw_allocated = header->n_raw_names;
    return true;
}

struct symbol_cache_position *symbol_cache_load(const char *dir, const char *build_id,
                                                const char *identity, struct symbol_store *store,
                                                size_t *ret_n_positions)
{
    struct symbol_cache_position *positions = NULL;
    struct reader reader = {0};
    char path[PATH_MAX];
    size_t size = 0;
    char *bytes = file_path(dir, build_id, path, sizeof(path)) ? read_file(path, &size) : NULL;
    const char *known;

    *ret_n_positions = 0;
    if (bytes && lay_out(&reader, bytes, size) && is_within(&reader)
        && (known = next_string(&reader)) && !strcmp(known, identity) && fill_store(&reader, store))
        positions = copy(reader.positions, reader.header->n_positions * sizeof(*positions));
    if (positions)
        *ret_n_positions = reader.header->n_positions;
    else
        symbol_store_done(store);
    free(bytes);
    return positions;
}

/* ---- writing ---- */

static void put(FILE *body, const void *bytes, size_t size)
{
    if (size)
        (void)fwrite(bytes, 1, size, body);
}

static void put_strings(FILE *body, const struct intern *intern)
{
    for (uint32_t i = 0; i < intern->n_strings; i++)
        put(body, intern_get(intern, i), strlen(intern_get(intern, i)) + 1);
}

static char *make_body(const char *identity, const struct symbol_store *store,
                       const struct symbol_cache_position *positions, size_t n_positions,
                       size_t *ret_size)
{
    char *bytes = NULL;
    FILE *body = open_memstream(&bytes, ret_size);

    if (!body)
        return NULL;
    put(body, positions, n_positions * sizeof(*positions));
    put(body, store->levels, store->n_levels * sizeof(*store->levels));
    put(body, store->name_of_raw, store->raw_names.n_strings * sizeof(*store->name_of_raw));
    put(body, identity, strlen(identity) + 1);
    put_strings(body, &store->raw_names);
    put_strings(body, &store->names);
    put_strings(body, &store->sources);
    if (ferror(body) | fclose(body)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Like mkdir -p. Errors are ignored: opening the file will show them. */
static void make_folders(const char *dir)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path))
        return;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    mkdir(path, 0777);
}

static bool write_all(int fd, const void *bytes, size_t size)
{
    const char *rest = bytes;

    while (size > 0) {
        ssize_t n = write(fd, rest, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        rest += n;
        size -= (size_t)n;
    }
    return true;
}

static bool replace_file(const char *path, const struct header *header, const void *body,
                         size_t size)
{
    char temporary[PATH_MAX];
    bool is_written;
    int fd;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= sizeof(temporary))
        return false;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return false;
    is_written = write_all(fd, header, sizeof(*header)) && write_all(fd, body, size);
    is_written = close(fd) == 0 && is_written && rename(temporary, path) == 0;
    if (!is_written)
        unlink(temporary);
    return is_written;
}

bool symbol_cache_save(const char *dir, const char *build_id, const char *identity,
                       const struct symbol_store *store,
                       const struct symbol_cache_position *positions, size_t n_positions)
{
    struct header header = {.version = CACHE_VERSION,
                            .n_positions = (uint32_t)n_positions,
                            .n_levels = (uint32_t)store->n_levels,
                            .n_raw_names = store->raw_names.n_strings,
                            .n_names = store->names.n_strings,
                            .n_sources = store->sources.n_strings};
    char path[PATH_MAX];
    size_t size = 0;
    char *body;
    bool is_written;

    if (n_positions >= UINT32_MAX || !file_path(dir, build_id, path, sizeof(path)))
        return false;
    body = make_body(identity, store, positions, n_positions, &size);
    if (!body || size >= LARGEST_FILE - sizeof(header)) {
        free(body);
        return false;
    }
    memcpy(header.magic, magic, sizeof(magic));
    header.checksum = checksum_of(&header, body, size);
    make_folders(dir);
    is_written = replace_file(path, &header, body, size);
    free(body);
    return is_written;
}

/* ---- limits of the folder ---- */

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
