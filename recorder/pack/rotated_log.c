/* SPDX-License-Identifier: MIT */
#include "recorder/pack/rotated_log.h"

#include "lib/base/fault_point.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/log_rotation.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Between looks at the folder while writing is stopped. */
#define LOOK_REST_NS UINT64_C(50000000)

void rotated_log_init(struct rotated_log *rotated, const char *log_path,
                      struct rotated_log_run *run)
{
    *rotated =
        (struct rotated_log){.log_path = log_path,
                             .run = run,
                             .current.fd = -1,
                             .max_bytes = (int64_t)(log_rotation_bytes() / LOG_ROTATION_FILES)};
}

void rotated_log_done(struct rotated_log *rotated)
{
    if (rotated->log_path)
        packed_log_close(&rotated->current);
    rotated->log_path = NULL;
}

/* A file without a header may be replaced. */
static int check_name(char *name, struct error *err)
{
    struct stat status;
    int code = 0;

    if (!name)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    if (lstat(name, &status) == 0 && !(S_ISREG(status.st_mode) && status.st_size == 0)
        && !log_rotation_is_part(name))
        code = error_set(
            err, ERROR_EXISTS,
            "'%s' exists and is no part of a bounded log; choose another name or remove it", name);
    free(name);
    return code;
}

int rotated_log_check(const char *log_path, struct error *err)
{
    struct log_rotation ring = {0};
    int code = check_name(log_rotation_state_name(log_path), err);

    if (code == 0 && log_rotation_find(log_path, &ring) != 0)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    for (size_t i = 0; code == 0 && i < ring.n; i++)
        code = check_name(log_rotation_name(log_path, ring.numbers[i]), err);
    log_rotation_done(&ring);
    return code;
}

static int begin_next(struct rotated_log *rotated, const struct log_header *file, struct error *err)
{
    char *name = log_rotation_name(rotated->log_path, rotated->number + 1);
    struct packed_log next = {.fd = -1};
    int code = name ? packed_log_create(name, true, &next, err)
                    : error_set(err, ERROR_NOMEM, "not enough memory");

    free(name);
    next.added_flags = LOG_FLAG_BOUNDED;
    if (code == 0)
        code = packed_log_write_header(&next, file, err);
    if (code) {
        if (next.path)
            packed_log_remove(&next); /* without a header it may be replaced */
        packed_log_close(&next);
        return code;
    }
    packed_log_close(&rotated->current);
    rotated->current = next;
    rotated->number++;
    rotated->run->there_bytes += LOG_FILE_HEADER_BYTES;
    fault_point("generation");
    return 0;
}

/* False: the follower is late because the disk is full, not because it is slow. */
static bool has_disk_room(const struct rotated_log_run *run, uint64_t n_bytes)
{
    struct statvfs disk;

    return statvfs(run->log_path, &disk) != 0 || disk.f_bavail * disk.f_frsize >= n_bytes;
}

/* The follower removes files, so there may be less than known. */
static bool has_room(struct rotated_log_run *run, size_t n_bytes)
{
    if (run->there_bytes + n_bytes > run->max_bytes) {
        uint64_t now_ns = monotonic_now_ns();
        if (now_ns < run->look_ns)
            return false;
        run->look_ns = now_ns + LOOK_REST_NS;
        run->there_bytes = log_rotation_run_bytes(run->log_path);
        run->max_bytes = log_rotation_max_bytes(run->log_path);
        run->was_disk_full |=
            run->there_bytes + n_bytes > run->max_bytes
            && !has_disk_room(run, log_rotation_state_bytes(run->log_path) + n_bytes);
    }
    return run->there_bytes + n_bytes <= run->max_bytes;
}

void rotated_log_note_failure(struct rotated_log_run *run, const struct error *err)
{
    run->was_disk_full |= error_is_disk_full(err);
}

int rotated_log_append(struct rotated_log *rotated, const struct log_header *file,
                       const void *frame, size_t n_bytes, struct error *err)
{
    int code = 0;

    rotated->is_full =
        !rotated->is_ending && !has_room(rotated->run, n_bytes + LOG_FILE_HEADER_BYTES);
    if (rotated->is_full)
        return error_set(
            err, ERROR_IO,
            "the rotated logs of '%s' have reached their limit: the follower is slower than the "
            "program",
            rotated->run->log_path);
    if (rotated->number == 0 || rotated->current.end_offset >= rotated->max_bytes)
        code = begin_next(rotated, file, err);
    code = code ? code : packed_log_append(&rotated->current, frame, n_bytes, err);
    if (code)
        rotated_log_note_failure(rotated->run, err);
    if (code == 0) {
        rotated->run->written_bytes += n_bytes;
        rotated->run->there_bytes += n_bytes;
    }
    return code;
}
