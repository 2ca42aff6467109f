/* SPDX-License-Identifier: MIT */
#include "symbolizer/debug_files.h"

#include "lib/base/file_io.h"
#include "symbolizer/debian_package.h"
#include "symbolizer/debug_search.h"
#include "symbolizer/kept_file.h"

#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LONGEST_PACKAGE = 128
};

const struct elf_image *debug_files_dwarf(const struct debug_files *files)
{
    if (files->debug.elf)
        return &files->debug;
    return files->object.elf && elf_image_has_dwarf(&files->object) ? &files->object : NULL;
}

int debug_files_add_note(struct debug_files *files, struct error *err, const char *format, ...)
{
    va_list args;
    int length;

    if (files->note)
        return 0;
    va_start(args, format);
    length = vasprintf(&files->note, format, args);
    va_end(args);
    if (length >= 0)
        return 0;
    files->note = NULL;
    return error_set(err, ERROR_NOMEM, "no memory for a note");
}

/* A changed file has another time, a replaced one another inode. */
static void identify(FILE *text, const char *role, const struct elf_image *image)
{
    struct stat status;

    if (image->elf && image->fd >= 0 && fstat(image->fd, &status) == 0)
        fprintf(text, "; %s %s %ju:%ju %jd %jd.%09ld %jd.%09ld", role, image->path,
                (uintmax_t)status.st_dev, (uintmax_t)status.st_ino, (intmax_t)status.st_size,
                (intmax_t)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                (intmax_t)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    else
        fprintf(text, "; %s none", role);
}

int debug_files_identify(const struct debug_files *files, char **ret_identity, struct error *err)
{
    size_t size;
    FILE *text = open_memstream(ret_identity, &size);

    if (!text)
        return error_set(err, ERROR_NOMEM, "no memory to identify debug files");
    fprintf(text, "mtrace %s, libdw %s", MTRACE_VERSION, dwfl_version(NULL));
    identify(text, "object", &files->object);
    identify(text, "debug", &files->debug);
    if (fclose(text) == 0)
        return 0;
    free(*ret_identity);
    *ret_identity = NULL;
    return error_set(err, ERROR_NOMEM, "no memory to identify debug files");
}

/* Adds the hint for an object that is found and matches, but has no debug info. */
static int note_stripped(struct debug_files *files, struct error *err)
{
    const char *path = files->object.path;
    char package[LONGEST_PACKAGE];
    char debug_package[LONGEST_PACKAGE];
    bool is_in_main;

    if (!debian_package_find(path, package, sizeof(package))
        || !debian_package_debug_name(package, debug_package, sizeof(debug_package), &is_in_main))
        return debug_files_add_note(files, err,
                                    "no debug info; rebuild it with -g, or name the folder of "
                                    "its debug file with --debug-dir");
    if (is_in_main)
        return debug_files_add_note(files, err, "no debug info; install %s", debug_package);
    return debug_files_add_note(files, err,
                                "no debug info of package %s; install %s from the archive of debug "
                                "symbols, or set DEBUGINFOD_URLS",
                                package, debug_package);
}

static int note_missing(struct debug_files *files, const struct symbolizer_object *recorded,
                        const struct elf_image *found, struct error *err)
{
    if (!found->elf)
        return debug_files_add_note(files, err,
                                    "'%s' is missing or not an ELF file; copy it here and name "
                                    "its root with --sysroot, or its debug file with --debug-dir",
                                    recorded->path);
    if (recorded->architecture && strcmp(recorded->architecture, found->architecture) != 0)
        return debug_files_add_note(files, err,
                                    "'%s' is of another architecture here (%s, recorded %s); name "
                                    "the root of the recorded machine with --sysroot",
                                    found->path,
                                    *found->architecture ? found->architecture : "other byte order",
                                    recorded->architecture);
    return debug_files_add_note(files, err,
                                "'%s' was replaced since the recording (build-id %s, recorded %s); "
                                "name the folder of the recorded one with --debug-dir",
                                recorded->path, found->build_id ? found->build_id : "none",
                                recorded->build_id ? recorded->build_id : "none");
}

static int note_kept(struct debug_files *files, const struct symbolizer_object *recorded,
                     struct error *err)
{
    return debug_files_add_note(files, err,
                                "'%s' was removed or replaced since the recording; names come "
                                "from the log. For lines, name the folder of a copy with "
                                "--debug-dir",
                                recorded->path);
}

/* Only its time of change can show that a file of this machine without build id was replaced. */
static int note_changed(const struct symbolizer_options *options,
                        const struct symbolizer_object *recorded, struct debug_files *files,
                        struct error *err)
{
    struct stat now;

    if (recorded->build_id || (options->sysroot && *options->sysroot) || options->recorded_ns == 0
        || files->object.fd < 0 || fstat(files->object.fd, &now) != 0
        || file_io_modified_ns(&now) <= options->recorded_ns)
        return 0;
    return debug_files_add_note(files, err,
                                "'%s' was changed after the recording and has no build-id: names "
                                "and lines may be wrong. Bring the recorded file back, and link "
                                "with -Wl,--build-id",
                                files->object.path);
}

static bool is_recorded(const struct elf_image *image, const struct symbolizer_object *recorded)
{
    if (!image->elf
        || (recorded->architecture && strcmp(recorded->architecture, image->architecture) != 0))
        return false;
    return !recorded->build_id || elf_image_has_build_id(image, recorded->build_id);
}

/* Opens the parts of the object in the log; elf is NULL: none. */
static void open_kept(const struct symbolizer_object *recorded, struct elf_image *ret_image)
{
    const struct kept_file *kept = recorded->kept;

    *ret_image = ELF_IMAGE_NONE;
    if (!kept || !kept->bytes
        || !elf_image_open_memory(kept->bytes, kept->n_bytes, recorded->path, ret_image))
        return;
    if (recorded->architecture && strcmp(recorded->architecture, ret_image->architecture) != 0)
        elf_image_close(ret_image);
}

/* DG-4. A copy without section headers was taken from memory, because the path named another file
 * then. */
static bool agrees(const struct elf_image *image, const struct symbolizer_object *recorded,
                   const struct elf_image *kept)
{
    size_t n_sections;

    if (recorded->build_id || !kept->elf)
        return true;
    return elf_getshdrnum(kept->elf, &n_sections) == 0 && n_sections > 0
           && elf_image_is_same_build(image, kept);
}

/* If folders of / are links into /usr, a root assembled from packages may have the file on the
 * other side. */
static bool open_below_sysroot(const char *root, const char *path, struct elf_image *ret_image)
{
    char other[PATH_MAX];

    if (elf_image_open_below(root, path, ret_image))
        return true;
    if (!strncmp(path, "/usr/", 5))
        return elf_image_open_below(root, path + 4, ret_image);
    return (size_t)snprintf(other, sizeof(other), "/usr%s", path) < sizeof(other)
           && elf_image_open_below(root, other, ret_image);
}

/* Opens the file at the object's path. Outside of the sysroot it belongs to this machine, and only
 * its build id can identify it. */
static void open_at_path(const struct symbolizer_options *options,
                         const struct symbolizer_object *recorded, struct elf_image *ret_image)
{
    struct elf_image own;

    *ret_image = ELF_IMAGE_NONE;
    if (!strcmp(recorded->path, "[vdso]")) {
        elf_image_open_vdso(ret_image);
        return;
    }
    if (!options->sysroot || !*options->sysroot) {
        elf_image_open(recorded->path, ret_image);
        return;
    }
    open_below_sysroot(options->sysroot, recorded->path, ret_image);
    if (is_recorded(ret_image, recorded) || !recorded->build_id
        || !elf_image_open(recorded->path, &own))
        return;
    if (is_recorded(&own, recorded)) {
        elf_image_close(ret_image);
        *ret_image = own;
    } else {
        elf_image_close(&own);
    }
}

/* A sysroot usually has stripped copies; the original may still be at its own path. */
static bool open_own_dwarf(const struct symbolizer_options *options,
                           const struct symbolizer_object *recorded, struct elf_image *ret_debug)
{
    if (!options->sysroot || !*options->sysroot || !recorded->build_id
        || !elf_image_open(recorded->path, ret_debug))
        return false;
    if (is_recorded(ret_debug, recorded) && elf_image_has_dwarf(ret_debug))
        return true;
    elf_image_close(ret_debug);
    *ret_debug = ELF_IMAGE_NONE;
    return false;
}

/* An object with its own debug info needs no other file. For a missing or replaced object the debug
 * file is found by build id. */
static int find_debug(const struct debug_search *search, const struct symbolizer_object *recorded,
                      struct debug_files *files, const struct elf_image *found, struct error *err)
{
    if (search->object->elf && elf_image_has_dwarf(search->object))
        return 0;
    if (open_own_dwarf(search->options, recorded, &files->debug)
        || debug_search_dwarf(search, &files->debug))
        return 0;
    if (!files->object.elf)
        debug_search_object_far(search, &files->object);
    if (files->is_kept)
        return note_kept(files, recorded, err);
    return files->object.elf ? note_stripped(files, err)
                             : note_missing(files, recorded, found, err);
}

/* Finds the object at one of its paths, in a folder of debug files, or as parts in the log.
 * *ret_found: there is a different file at its path. */
static void find_object(const struct debug_search *search, const struct symbolizer_object *recorded,
                        struct debug_files *files, struct elf_image *ret_found)
{
    const char *const *others = recorded->other_paths;
    struct symbolizer_object copy = *recorded;
    struct elf_image kept;

    open_kept(recorded, &kept);
    open_at_path(search->options, recorded, ret_found);
    while (!(is_recorded(ret_found, recorded) && agrees(ret_found, recorded, &kept)) && others
           && *others) {
        elf_image_close(ret_found);
        copy.path = *others++;
        open_at_path(search->options, &copy, ret_found);
    }
    if (is_recorded(ret_found, recorded) && agrees(ret_found, recorded, &kept)) {
        files->object = *ret_found;
        *ret_found = ELF_IMAGE_NONE;
    } else if (!debug_search_object(search, &files->object) && kept.elf) {
        files->object = kept;
        files->is_kept = true;
        return;
    }
    elf_image_close(&kept);
}

int debug_files_open(const struct symbolizer_options *options,
                     const struct symbolizer_object *recorded, struct debug_files *ret_files,
                     struct error *err)
{
    struct debug_files *files = ret_files;
    struct elf_image found;
    struct debug_search search = {.options = options,
                                  .path = recorded->path,
                                  .build_id = recorded->build_id,
                                  .architecture = recorded->architecture,
                                  .object = &files->object};
    int status;

    files->object = files->debug = files->alternate = ELF_IMAGE_NONE;
    files->note = NULL;
    files->is_kept = false;
    find_object(&search, recorded, files, &found);
    if (files->object.elf) {
        if (!files->is_kept)
            search.build_id = files->object.build_id;
        search.architecture = files->object.architecture;
    }
    status = note_changed(options, recorded, files, err);
    if (status == 0)
        status = find_debug(&search, recorded, files, &found, err);
    elf_image_close(&found);
    return status;
}

int debug_files_open_alternate(struct debug_files *files, const struct symbolizer_options *options,
                               const char *dwarf_path, const char *name, const void *build_id,
                               size_t build_id_size, struct error *err)
{
    struct debug_search search = {.options = options, .path = dwarf_path, .object = &files->object};
    char *id = elf_image_format_build_id(build_id, build_id_size);
    bool is_found;

    if (!id)
        return error_set(err, ERROR_NOMEM, "no memory for a build-id");
    is_found = debug_search_alternate(&search, dwarf_path, name, id, &files->alternate);
    free(id);
    if (is_found)
        return 0;
    return debug_files_add_note(files, err,
                                "'%s' needs '%s', which is not here; names are incomplete until "
                                "the package of the first is installed whole",
                                dwarf_path, name);
}

void debug_files_close(struct debug_files *files)
{
    elf_image_close(&files->alternate);
    elf_image_close(&files->debug);
    elf_image_close(&files->object);
    free(files->note);
    files->note = NULL;
}
