/* SPDX-License-Identifier: MIT */
#include "remote/receiver/object_store.h"

#include "lib/base/error.h"
#include "lib/base/file_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char top_name[] = ".build-id";

enum {
    WRITE_OUT_BYTES = 8 << 20 /* written out in steps, so that the final sync is short */
};

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* ---- existing objects ------------------------------------------------------------------------ */

static void count(struct store *store, uint64_t n_bytes)
{
    store->n_bytes += n_bytes;
    store->n_object_bytes += n_bytes;
}

/* Incomplete objects of a killed receiver are deleted. */
static void count_folder(struct store *store, int fd)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    struct stat status;

    if (!folder) {
        close(fd);
        return;
    }
    while ((entry = readdir(folder))) {
        if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0
            || !S_ISREG(status.st_mode))
            continue;
        if (strstr(entry->d_name, ".part"))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
        else
            count(store, (uint64_t)status.st_size);
    }
    closedir(folder);
}

int object_store_open(struct store *store, bool is_fetching, struct error *err)
{
    int top;

    if (is_fetching && mkdirat(store->folder, top_name, 0700) != 0 && errno != EEXIST)
        return error_set_errno(err, errno, "cannot make '%s'", top_name);
    top = open_folder(store->folder, top_name);
    if (top < 0)
        return !is_fetching && errno == ENOENT
                   ? 0
                   : error_set_errno(err, errno, "cannot open '%s'", top_name);
    for (unsigned i = 0; i < 256; i++) {
        char name[3];
        (void)snprintf(name, sizeof(name), "%02x", i);
        int fd = open_folder(top, name);
        if (fd >= 0)
            count_folder(store, fd);
    }
    close(top);
    return 0;
}

/* ---- one object ------------------------------------------------------------------------------ */

static int make_folder(const struct store *store, const char *first)
{
    int top = open_folder(store->folder, top_name);
    int folder = -1;

    if (top < 0)
        return -1;
    if (mkdirat(top, first, 0700) == 0 || errno == EEXIST)
        folder = open_folder(top, first);
    close(top);
    return folder;
}

static bool has_room(const struct store *store, uint64_t n_bytes)
{
    return store->n_bytes <= store->max_bytes && n_bytes <= store->max_bytes - store->n_bytes
           && store->n_object_bytes <= store->max_bytes / 2
           && n_bytes <= store->max_bytes / 2 - store->n_object_bytes; /* OT-4 */
}

/* WIRE_WANTED, if it can be stored. */
static enum wire_wish judge(const struct store *store, const struct object_file *file,
                            uint64_t room_bytes)
{
    if (file->size_bytes == 0)
        return WIRE_ABSENT;
    if (file->size_bytes > OBJECT_STORE_MAX_BYTES)
        return WIRE_TOO_LARGE;
    return file->size_bytes <= room_bytes && has_room(store, file->size_bytes) ? WIRE_WANTED
                                                                               : WIRE_NO_ROOM;
}

/* Creates the file in its open folder. */
static enum wire_wish open_part(struct object_file *file, enum wire_wish wish)
{
    if (faccessat(file->folder, file->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return WIRE_HAS_IT;
    if (wish == WIRE_WANTED)
        file->fd = openat(file->folder, file->part,
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return wish == WIRE_WANTED && file->fd < 0 ? WIRE_NOT_WRITTEN : wish;
}

int object_store_begin(struct store *store, const struct wire_object *object, uint64_t owner,
                       uint64_t room_bytes, enum wire_wish *ret_wish, struct object_file *ret_file,
                       struct error *err)
{
    struct object_file file = {
        .fd = -1, .id.n = object->n_id, .size_bytes = object->size_bytes, .folder = -1};
    char first[3];
    char rest[2 * BUILD_ID_BYTES];

    if (object->n_id < BUILD_ID_LEAST_BYTES || object->n_id > BUILD_ID_BYTES
        || object->kind > WIRE_OBJECT_DEBUG)
        return error_set(err, ERROR_FORMAT, "it offers a file without a name");
    memcpy(file.id.bytes, object->id, file.id.n);
    build_id_format(&file.id, first, rest);
    (void)snprintf(file.name, sizeof(file.name), "%s%s", rest,
                   object->kind == WIRE_OBJECT_DEBUG ? ".debug" : "");
    (void)snprintf(file.part, sizeof(file.part), "%s.part%" PRIu64, file.name, owner);
    file.folder = make_folder(store, first);
    *ret_wish =
        file.folder < 0 ? WIRE_NOT_WRITTEN : open_part(&file, judge(store, &file, room_bytes));
    if (*ret_wish == WIRE_WANTED)
        *ret_file = file;
    else if (file.folder >= 0)
        close(file.folder);
    return 0;
}

enum wire_wish object_store_add(struct store *store, struct object_file *file, const void *bytes,
                                size_t n_bytes)
{
    if (!has_room(store, n_bytes))
        return WIRE_NO_ROOM;
    if (file_io_write(file->fd, bytes, n_bytes, file->written_bytes, NULL) != 0)
        return WIRE_NOT_WRITTEN;
    if ((file->written_bytes + n_bytes) / WRITE_OUT_BYTES != file->written_bytes / WRITE_OUT_BYTES)
        (void)sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    file->written_bytes += n_bytes;
    count(store, n_bytes);
    return WIRE_WANTED;
}

static void close_file(struct object_file *file)
{
    close(file->fd);
    close(file->folder);
    *file = (struct object_file){.fd = -1, .folder = -1};
}

enum wire_wish object_store_end(struct store *store, struct object_file *file)
{
    struct build_id found;
    bool is_it = file->written_bytes == file->size_bytes && build_id_read(file->fd, &found)
                 && build_id_is_same(&found, &file->id);

    if (is_it
        && fdatasync(file->fd)
               != 0) { /* OT-1: after a power loss a name may exist without its data */
        object_store_drop(store, file);
        return WIRE_NOT_WRITTEN;
    }
    /* If another sender has brought it in the meantime, that file stays. */
    if (!is_it || linkat(file->folder, file->part, file->folder, file->name, 0) != 0) {
        object_store_drop(store, file);
        return is_it ? WIRE_KEPT : WIRE_NOT_IT;
    }
    (void)unlinkat(file->folder, file->part, 0);
    close_file(file);
    return WIRE_KEPT;
}

void object_store_drop(struct store *store, struct object_file *file)
{
    if (file->fd < 0)
        return;
    store->n_bytes -= file->written_bytes;
    store->n_object_bytes -= file->written_bytes;
    (void)unlinkat(file->folder, file->part, 0);
    close_file(file);
}
