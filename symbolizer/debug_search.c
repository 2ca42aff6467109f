/* SPDX-License-Identifier: MIT */
#include "symbolizer/debug_search.h"

#include "lib/abi/attr.h"
#include "symbolizer/debug_index.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- debuginfod ---- */

/* Declared as in the manual page debuginfod_find_debuginfo(3). */
struct debuginfod_functions {
    void *(*begin)(void);
    int (*find_debuginfo)(void *client, const unsigned char *build_id, int build_id_size,
                          char **path);
    int (*find_executable)(void *client, const unsigned char *build_id, int build_id_size,
                           char **path);
    void (*end)(void *client);
};

/* The library is never closed: it starts threads through libcurl. */
static bool load_debuginfod(struct debuginfod_functions *functions)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (!library)
        return false;
    *(void **)&functions->begin = dlsym(library, "debuginfod_begin");
    *(void **)&functions->find_debuginfo = dlsym(library, "debuginfod_find_debuginfo");
    *(void **)&functions->find_executable = dlsym(library, "debuginfod_find_executable");
    *(void **)&functions->end = dlsym(library, "debuginfod_end");
    return functions->begin && functions->find_debuginfo && functions->find_executable
           && functions->end;
}

/* Returns the path of the fetched debug file, or of the object itself, to be freed. NULL: no
 * servers, no library, or not found. */
static char *debuginfod_find(const char *build_id, bool is_object)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    struct debuginfod_functions functions;
    char *path = NULL;
    void *client;
    int fd;

    if (!urls || !*urls || !load_debuginfod(&functions))
        return NULL;
    client = functions.begin();
    if (!client)
        return NULL;
    /* Size 0: the id is hexadecimal text. */
    fd = (is_object ? functions.find_executable
                    : functions.find_debuginfo)(client, (const unsigned char *)build_id, 0, &path);
    functions.end(client);
    if (fd < 0)
        return NULL;
    close(fd);
    return path;
}

/* ---- places on this machine ---- */

/* Properties of a matching file. */
struct wanted {
    const char *build_id;     /* NULL: unknown */
    const char *architecture; /* NULL: unknown */
    const uint32_t *checksum; /* NULL: this place states none */
    const char *sysroot;      /* links below it stay below it; "": none */
    bool is_object;           /* it need not have DWARF */
};

static bool is_wanted(const struct elf_image *image, const struct wanted *wanted)
{
    uint32_t checksum;

    if (wanted->architecture && strcmp(wanted->architecture, image->architecture) != 0)
        return false;
    if (wanted->build_id && image->build_id)
        return elf_image_has_build_id(image, wanted->build_id);
    return wanted->checksum && elf_image_checksum(image, &checksum)
           && checksum == *wanted->checksum;
}

/* A link may lead outside of the sysroot: every file found must match. */
static bool open_file(const struct wanted *wanted, const char *path, struct elf_image *ret_image)
{
    size_t n = strlen(wanted->sysroot);

    while (n > 0 && wanted->sysroot[n - 1] == '/')
        n--;
    if (*wanted->sysroot && strncmp(path, wanted->sysroot, n) == 0 && path[n] == '/'
        && elf_image_open_below(wanted->sysroot, path + n + 1, ret_image))
        return true;
    return elf_image_open(path, ret_image);
}

MTRACE_PRINTF(3, 4)

static bool try_file(const struct wanted *wanted, struct elf_image *ret_image, const char *format,
                     ...)
{
    char path[PATH_MAX];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(path) || !open_file(wanted, path, ret_image))
        return false;
    if (is_wanted(ret_image, wanted) && (wanted->is_object || elf_image_has_dwarf(ret_image)))
        return true;
    elf_image_close(ret_image);
    return false;
}

static const char *sysroot_of(const struct debug_search *search)
{
    return search->options->sysroot ? search->options->sysroot : "";
}

/* Tries one folder of debug files: --debug-dir, /usr/lib/debug below the sysroot, that of this
 * machine. */
typedef bool try_dir_fn(const struct debug_search *search, const struct wanted *wanted,
                        const char *name, const char *dir, struct elf_image *ret_image);

static bool each_dir(const struct debug_search *search, const struct wanted *wanted,
                     const char *name, try_dir_fn *try_dir, struct elf_image *ret_image)
{
    const char *const *dirs = search->options->debug_dirs;
    char system_dir[PATH_MAX];

    for (; dirs && *dirs; dirs++)
        if (try_dir(search, wanted, name, *dirs, ret_image))
            return true;
    if ((size_t)snprintf(system_dir, sizeof(system_dir), "%s/usr/lib/debug", sysroot_of(search))
        >= sizeof(system_dir))
        return false;
    return try_dir(search, wanted, name, system_dir, ret_image)
           || (*sysroot_of(search) && try_dir(search, wanted, name, "/usr/lib/debug", ret_image));
}

static bool try_build_id(const struct debug_search *search, const struct wanted *wanted,
                         const char *name, const char *dir, struct elf_image *ret_image)
{
    (void)search, (void)name;
    return wanted->build_id && strlen(wanted->build_id) > 2
           && try_file(wanted, ret_image, "%s/.build-id/%.2s/%s.debug", dir, wanted->build_id,
                       wanted->build_id + 2);
}

/* Distributions have the object, or a link to it, beside its debug file. */
static bool try_object_id(const struct debug_search *search, const struct wanted *wanted,
                          const char *name, const char *dir, struct elf_image *ret_image)
{
    (void)search, (void)name;
    return wanted->build_id && strlen(wanted->build_id) > 2
           && try_file(wanted, ret_image, "%s/.build-id/%.2s/%s", dir, wanted->build_id,
                       wanted->build_id + 2);
}

static bool try_object_name(const struct debug_search *search, const struct wanted *wanted,
                            const char *name, const char *dir, struct elf_image *ret_image)
{
    (void)search;
    return try_file(wanted, ret_image, "%s/%s", dir, name);
}

/* Length of the folder part of the path, without the last slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash - path) : 0;
}

/* The path without leading slashes, to be appended to a folder. */
static const char *below_root(const char *path)
{
    return path + strspn(path, "/");
}

static bool try_link_in_dir(const struct debug_search *search, const struct wanted *wanted,
                            const char *name, const char *dir, struct elf_image *ret_image)
{
    const char *path = below_root(search->path);

    return try_file(wanted, ret_image, "%s/%.*s/%s", dir, folder_length(path), path, name)
           || try_file(wanted, ret_image, "%s/%s", dir, name);
}

static struct wanted wanted_dwarf(const struct debug_search *search)
{
    return (struct wanted){.build_id = search->build_id,
                           .architecture = search->architecture,
                           .sysroot = sysroot_of(search)};
}

static bool try_link(const struct debug_search *search, struct elf_image *ret_image)
{
    GElf_Word checksum;
    struct wanted wanted = wanted_dwarf(search);
    const char *name =
        search->object->elf ? dwelf_elf_gnu_debuglink(search->object->elf, &checksum) : NULL;
    const char *path = search->object->path;

    if (!name || !*name || strchr(name, '/'))
        return false;
    wanted.checksum = &checksum;
    return try_file(&wanted, ret_image, "%.*s/%s", folder_length(path), path, name)
           || try_file(&wanted, ret_image, "%.*s/.debug/%s", folder_length(path), path, name)
           || each_dir(search, &wanted, name, try_link_in_dir, ret_image);
}

static bool try_names(const struct debug_search *search, const struct wanted *wanted,
                      const char *name, const char *dir, struct elf_image *ret_image)
{
    return try_file(wanted, ret_image, "%s/%s.debug", dir, below_root(search->path))
           || try_file(wanted, ret_image, "%s/%s.debug", dir, name)
           || try_file(wanted, ret_image, "%s/%s", dir, name);
}

static bool try_debuginfod(const struct debug_search *search, const struct wanted *wanted,
                           struct elf_image *ret_image)
{
    char *path;
    bool is_found;

    if (!search->options->use_debuginfod || !wanted->build_id)
        return false;
    path = debuginfod_find(wanted->build_id, wanted->is_object);
    is_found = path && try_file(wanted, ret_image, "%s", path);
    free(path);
    return is_found;
}

static bool try_index(const struct debug_search *search, const struct wanted *wanted,
                      struct elf_image *ret_image)
{
    size_t n;
    const struct debug_index_entry *found =
        debug_index_find(search->options->index, wanted->build_id, &n);

    for (size_t i = 0; i < n; i++)
        if (try_file(wanted, ret_image, "%s", found[i].path))
            return true;
    return false;
}

static struct wanted wanted_object(const struct debug_search *search)
{
    struct wanted wanted = wanted_dwarf(search);

    wanted.is_object = true;
    return wanted;
}

bool debug_search_object(const struct debug_search *search, struct elf_image *ret_image)
{
    struct wanted wanted = wanted_object(search);

    return each_dir(search, &wanted, NULL, try_object_id, ret_image)
           || each_dir(search, &wanted, basename(search->path), try_object_name, ret_image)
           || try_index(search, &wanted, ret_image);
}

bool debug_search_object_far(const struct debug_search *search, struct elf_image *ret_image)
{
    struct wanted wanted = wanted_object(search);

    return try_debuginfod(search, &wanted, ret_image);
}

bool debug_search_dwarf(const struct debug_search *search, struct elf_image *ret_image)
{
    struct wanted wanted = wanted_dwarf(search);

    return each_dir(search, &wanted, NULL, try_build_id, ret_image) || try_link(search, ret_image)
           || each_dir(search, &wanted, basename(search->path), try_names, ret_image)
           || try_index(search, &wanted, ret_image) || try_debuginfod(search, &wanted, ret_image);
}

static bool try_alternate_name(const struct debug_search *search, const struct wanted *wanted,
                               const char *name, const char *dir, struct elf_image *ret_image)
{
    (void)search;
    return try_file(wanted, ret_image, "%s/.dwz/%s", dir, basename(name))
           || try_file(wanted, ret_image, "%s/%s", dir, basename(name));
}

bool debug_search_alternate(const struct debug_search *search, const char *dwarf_path,
                            const char *name, const char *build_id, struct elf_image *ret_image)
{
    struct wanted wanted = {.build_id = build_id, .sysroot = sysroot_of(search)};

    if (each_dir(search, &wanted, name, try_build_id, ret_image))
        return true;
    if (name[0] == '/'
            ? try_file(&wanted, ret_image, "%s%s", sysroot_of(search), name)
            : try_file(&wanted, ret_image, "%.*s/%s", folder_length(dwarf_path), dwarf_path, name))
        return true;
    return each_dir(search, &wanted, name, try_alternate_name, ret_image)
           || try_debuginfod(search, &wanted, ret_image);
}
