/* SPDX-License-Identifier: MIT */
#include "remote/receiver/store.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"
#include "lib/process/writer_liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PROGRAM_BYTES = 64,
    MAX_TRIES = 1000, /* taken names */
};

static const uint64_t last_second = UINT64_C(253402300799); /* of the year 9999 */

/* ---- existing logs --------------------------------------------------------------------------- */

static int add_log(struct store *store, const struct log_header *file, const char *name,
                   uint64_t size_bytes, struct store_log **ret_log)
{
    struct store_log **logs =
        dynamic_array_reserve(store->logs, &store->capacity, store->n_logs + 1, sizeof(*logs));
    struct store_log *log = logs ? malloc(sizeof(*log)) : NULL;

    if (logs)
        store->logs = logs;
    if (!log)
        return ERROR_NOMEM;
    *log = (struct store_log){.run_id = file->run_id,
                              .start_unix_ns = file->start_unix_ns,
                              .pid = file->pid,
                              .image = file->image,
                              .size_bytes = size_bytes,
                              .fd = -1};
    (void)snprintf(log->name, sizeof(log->name), "%s", name);
    store->logs[store->n_logs++] = log;
    store->n_bytes += size_bytes;
    *ret_log = log;
    return 0;
}

/* A file that is not a log of ours is ignored. */
static int look_at(struct store *store, const char *name)
{
    int fd = openat(store->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct store_log *log = NULL;
    struct log_header file;
    struct stat status;
    int code = 0;

    if (fd >= 0 && strlen(name) < STORE_NAME_BYTES && fstat(fd, &status) == 0
        && S_ISREG(status.st_mode) && status.st_size >= LOG_FILE_HEADER_BYTES
        && pread(fd, &file, sizeof(file), 0) == sizeof(file) && log_header_is_packed(&file))
        code = add_log(store, &file, name, (uint64_t)status.st_size, &log);
    if (log)
        log->written_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    if (fd >= 0)
        close(fd);
    return code;
}

/* Of two with the same time the one with a number is newer. */
static int compare_age(const void *a, const void *b)
{
    const struct store_log *x = *(struct store_log *const *)a;
    const struct store_log *y = *(struct store_log *const *)b;
    size_t n_x = strlen(x->name);
    size_t n_y = strlen(y->name);

    if (x->written_ns != y->written_ns)
        return x->written_ns < y->written_ns ? -1 : 1;
    return n_x != n_y ? (n_x < n_y ? -1 : 1) : strcmp(x->name, y->name);
}

/* Sorts logs so that the newest is last, as if they had been received now. */
static int look_around(struct store *store, struct error *err)
{
    int fd = openat(store->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int code = 0;

    if (!folder) {
        if (fd >= 0)
            close(fd);
        return error_set_errno(err, errno, "cannot read the folder");
    }
    while (code == 0 && (entry = readdir(folder)))
        if (strstr(entry->d_name, ".dat"))
            code = look_at(store, entry->d_name);
    closedir(folder);
    if (store->n_logs > 1)
        qsort(store->logs, store->n_logs, sizeof(struct store_log *), compare_age);
    return code ? error_set(err, ERROR_NOMEM, "not enough memory") : 0;
}

static int check_folder(int folder, const char *path, struct error *err)
{
    struct stat status;

    if (fstat(folder, &status) != 0)
        return error_set_errno(err, errno, "cannot look at '%s'", path);
    if (status.st_uid != geteuid())
        return error_set(err, ERROR_USAGE, "'%s' belongs to another user", path);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err, ERROR_USAGE, "others may write into '%s'; chmod go-w '%s'", path,
                         path);
    if (flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return error_set(err, ERROR_EXISTS, "another mtrace-gather is at work in '%s'", path);
    return 0;
}

/* Without read permission the sync is skipped. */
static void sync_parent(int folder)
{
    int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (parent >= 0) {
        (void)fsync(parent);
        close(parent);
    }
}

int store_open(const char *path, uint64_t max_bytes, struct store *ret_store, struct error *err)
{
    struct store store = {.max_bytes = max_bytes, .has_new_names = true};
    bool is_made = mkdir(path, 0700) == 0;
    int code;

    if (!is_made && errno != EEXIST)
        return error_set_errno(err, errno, "cannot make '%s'", path);
    store.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store.folder < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    if (is_made)
        sync_parent(store.folder);
    code = check_folder(store.folder, path, err);
    if (code == 0)
        code = look_around(&store, err);
    if (code)
        store_close(&store);
    else
        *ret_store = store;
    return code;
}

void store_close(struct store *store)
{
    for (size_t i = 0; i < store->n_logs; i++) {
        store_let_go(store->logs[i]);
        free(store->logs[i]);
    }
    free(store->logs);
    if (store->folder >= 0)
        close(store->folder);
    *store = (struct store){.folder = -1};
}

/* ---- names ----------------------------------------------------------------------------------- */

/* ST-1. No name begins with a dot. */
static void make_program(const char *program, size_t n_program, char *ret_text)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
    size_t n = n_program < PROGRAM_BYTES - 1 ? n_program : PROGRAM_BYTES - 1;

    for (size_t i = 0; i < n; i++)
        ret_text[i] = program[i] && strchr(allowed, program[i]) ? program[i] : '_';
    ret_text[n] = '\0';
    if (ret_text[0] == '.' || ret_text[0] == '-')
        ret_text[0] = '_';
    if (n == 0)
        (void)snprintf(ret_text, PROGRAM_BYTES, "program");
}

static void make_time(uint64_t unix_ns, char *ret_text, size_t n_bytes)
{
    uint64_t seconds = unix_ns / 1000000000;
    time_t time = (time_t)(seconds < last_second ? seconds : last_second);
    struct tm parts;

    if (!gmtime_r(&time, &parts) || strftime(ret_text, n_bytes, "%Y%m%dT%H%M%SZ", &parts) == 0)
        (void)snprintf(ret_text, n_bytes, "0");
}

/* The newest log with this run id; NULL: none. */
static struct store_log *find_run(const struct store *store, uint64_t run_id)
{
    for (size_t i = store->n_logs; run_id && i > 0; i--)
        if (store->logs[i - 1]->run_id == run_id)
            return store->logs[i - 1];
    return NULL;
}

/* Length of FILE: the start of a log's name, up to ".dat". */
static size_t first_length(const struct store_log *log)
{
    const char *end = strstr(log->name, ".dat");

    for (const char *next = end; next; next = strstr(next + 1, ".dat"))
        end = next;
    return end ? (size_t)(end - log->name) + strlen(".dat") : strlen(log->name);
}

/* The try-th name. A child's log gets its own from the header, unless it is received again; others
 * get a number. */
static void make_name(const struct store *store, const struct log_header *file, const char *program,
                      unsigned try, char *ret_name)
{
    const struct store_log *parent = find_run(store, file->parent_run_id);
    char when[32];

    if (parent && try == 0) {
        (void)snprintf(ret_name, STORE_NAME_BYTES, "%.*s.%" PRIu32 ".%" PRIu32,
                       (int)first_length(parent), parent->name, file->pid, file->image);
        return;
    }
    make_time(file->start_unix_ns, when, sizeof(when));
    try -= parent && try > 0;
    if (try == 0)
        (void)snprintf(ret_name, STORE_NAME_BYTES, "%s.%" PRIu32 ".%s.dat", program, file->pid,
                       when);
    else
        (void)snprintf(ret_name, STORE_NAME_BYTES, "%s.%" PRIu32 ".%s.%u.dat", program, file->pid,
                       when, try + 1);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int make_file(struct store *store, const struct log_header *file, const char *program,
                     char *ret_name, int *ret_fd, struct error *err)
{
    *ret_fd = -1;
    store->has_new_names = true;
    for (unsigned try = 0; try < MAX_TRIES && *ret_fd < 0; try++) {
        make_name(store, file, program, try, ret_name);
        *ret_fd = openat(store->folder, ret_name,
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (*ret_fd < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "cannot make '%s'", ret_name);
    }
    return *ret_fd >= 0 ? 0 : error_set(err, ERROR_EXISTS, "there are too many of '%s'", ret_name);
}

static int check_room(const struct store *store, uint64_t n_bytes, struct error *err)
{
    return n_bytes <= store->max_bytes && store->n_bytes <= store->max_bytes - n_bytes
               ? 0
               : error_set(err, ERROR_IO, "the receiver's folder is full (--max-bytes)");
}

static int make_log(struct store *store, const struct store_offer *offer,
                    struct store_log **ret_log, struct error *err)
{
    char clean[PROGRAM_BYTES];
    char name[STORE_NAME_BYTES];
    struct log_header file;
    int fd;
    int os_errno;
    int code = check_room(store, LOG_FILE_HEADER_BYTES, err);

    memcpy(&file, offer->page, sizeof(file));
    make_program(offer->program, offer->n_program, clean);
    if (code == 0)
        code = make_file(store, &file, clean, name, &fd, err);
    if (code)
        return code;
    os_errno = file_io_write(fd, offer->page, LOG_FILE_HEADER_BYTES, 0, NULL);
    if (os_errno)
        code = error_set_errno(err, os_errno, "cannot write '%s'", name);
    else if (add_log(store, &file, name, LOG_FILE_HEADER_BYTES, ret_log) != 0)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    if (code) {
        (void)unlinkat(store->folder, name, 0);
        close(fd);
        return code;
    }
    (*ret_log)->fd = fd;
    return 0;
}

/* ST-5 */
static void lock(struct store_log *log)
{
    log->is_locked = log->is_locked || file_lock_take(log->fd);
}

static bool is_of(const struct store_log *log, const struct log_header *file)
{
    return log->run_id == file->run_id && log->pid == file->pid && log->image == file->image
           && log->start_unix_ns == file->start_unix_ns;
}

/* The newest one, so that a restarted log continues. */
static struct store_log *find_log(const struct store *store, const struct log_header *file)
{
    for (size_t i = store->n_logs; i > 0; i--)
        if (is_of(store->logs[i - 1], file))
            return store->logs[i - 1];
    return NULL;
}

/* Opens the file of a known log; false: it was removed or replaced. */
static bool open_again(const struct store *store, struct store_log *log)
{
    struct log_header file;
    struct stat status;
    int fd = openat(store->folder, log->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return false;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)
        || pread(fd, &file, sizeof(file), 0) != sizeof(file) || !log_header_is_packed(&file)
        || !is_of(log, &file) || status.st_size < LOG_FILE_HEADER_BYTES) {
        close(fd);
        return false;
    }
    log->size_bytes = (uint64_t)status.st_size;
    log->fd = fd;
    return true;
}

/* The log's sender may still refer to it, so it is kept but not found any more. */
static void forget(struct store *store, struct store_log *log)
{
    store_let_go(log);
    store->n_bytes -= log->size_bytes;
    log->size_bytes = 0;
    log->run_id = 0;
}

static struct store_log *find_again(struct store *store, const struct log_header *file)
{
    struct store_log *log = find_log(store, file);
    uint64_t before;

    if (!log)
        return NULL;
    store_let_go(log);
    before = log->size_bytes;
    if (!open_again(store, log)) {
        forget(store, log);
        return NULL;
    }
    store->n_bytes = store->n_bytes - before + log->size_bytes;
    return log;
}

int store_begin(struct store *store, const struct store_offer *offer, bool is_again, uint64_t owner,
                struct store_log **ret_log, struct error *err)
{
    struct store_log *log = NULL;
    struct log_header file;
    int code = 0;

    memcpy(&file, offer->page, sizeof(file));
    if (!log_header_is_packed(&file) || file.version == 0 || file.run_id == 0)
        return error_set(err, ERROR_FORMAT,
                         "it sends something that is not a packed log of mtrace");
    if (!is_again)
        log = find_again(store, &file);
    if (!log)
        code = make_log(store, offer, &log, err);
    if (code)
        return code;
    log->owner = owner;
    lock(log);
    *ret_log = log;
    return 0;
}

/* ---- data ------------------------------------------------------------------------------------ */

int store_add(struct store *store, struct store_log *log, const void *bytes, size_t n_bytes,
              struct error *err)
{
    size_t n_written;
    int code = check_room(store, n_bytes, err);
    int os_errno;

    if (code)
        return code;
    lock(log);
    os_errno = file_io_write(log->fd, bytes, n_bytes, log->size_bytes, &n_written);
    log->size_bytes += n_written;
    store->n_bytes += n_written;
    return os_errno ? error_set_errno(err, os_errno, "the receiver cannot write '%s'", log->name)
                    : 0;
}

int store_set_header(struct store_log *log, const void *page, struct error *err)
{
    struct log_header file;
    int os_errno;

    memcpy(&file, page, sizeof(file));
    if (!log_header_is_packed(&file) || !is_of(log, &file))
        return error_set(err, ERROR_FORMAT, "it sends the header page of another log");
    lock(log);
    os_errno = file_io_write(log->fd, page, LOG_FILE_HEADER_BYTES, 0, NULL);
    return os_errno ? error_set_errno(err, os_errno, "the receiver cannot write '%s'", log->name)
                    : 0;
}

int store_sync(struct store *store, struct store_log *log, struct error *err)
{
    if (fdatasync(log->fd) != 0 || (store->has_new_names && fsync(store->folder) != 0))
        return error_set_errno(err, errno, "the receiver cannot write '%s'", log->name);
    store->has_new_names = false;
    return 0;
}

void store_let_go(struct store_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
    log->is_locked = false;
    log->owner = 0;
}
