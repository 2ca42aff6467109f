/* SPDX-License-Identifier: MIT */
#include "lib/logfile/log_rotation.h"

#include "lib/abi/log_format.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STATE_SUFFIX ".state"
#define GENERATION   ".g" /* followed by a number */

_Static_assert(LOG_MAILBOX_OFFSET + sizeof(struct log_mailbox) <= LOG_ROTATION_STATE_END_AT
                   && LOG_ROTATION_STATE_END_AT + sizeof(uint64_t) == LOG_FILE_HEADER_BYTES,
               "header page");

enum {
    MAX_DIGITS = 9,
    LOCK_NAP_NS = 1000000,
    MAX_LOCK_NAPS = 60000, /* the follower has the lock for one round */
};

char *log_rotation_name(const char *log_path, uint32_t number)
{
    char *name;

    return asprintf(&name, "%s" GENERATION "%u", log_path, (unsigned)number) < 0 ? NULL : name;
}

char *log_rotation_state_name(const char *log_path)
{
    char *name;

    return asprintf(&name, "%s" STATE_SUFFIX, log_path) < 0 ? NULL : name;
}

static char *unreadable_state_name(const char *log_path)
{
    char *name;

    return asprintf(&name, "%s" STATE_SUFFIX LOG_ROTATION_UNREADABLE_SUFFIX, log_path) < 0 ? NULL
                                                                                           : name;
}

/* ---- the lock ---- */

/* The recorder has a flock on the log. This is a lock of one byte, which is independent of it. */
static bool set_lock(int fd, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

int log_rotation_lock_for_reading(const char *log_path)
{
    const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
    int fd = open(log_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    for (int i = 0; fd >= 0 && i < MAX_LOCK_NAPS; i++) {
        if (set_lock(fd, F_RDLCK))
            return fd;
        if (errno != EAGAIN && errno != EACCES)
            break;
        nanosleep(&nap, NULL);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

int log_rotation_lock_for_removal(const char *log_path)
{
    int fd = open(log_path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || set_lock(fd, F_WRLCK) || (errno != EAGAIN && errno != EACCES))
        return fd;
    close(fd);
    return -1;
}

void log_rotation_unlock(int lock)
{
    if (lock >= 0)
        (void)set_lock(lock, F_UNLCK);
}

/* ---- sizes ---- */

uint64_t log_rotation_bytes(void)
{
#if defined(MTRACE_SMALL_RINGS)
    const char *reported = getenv("MTRACE_RING_BYTES");

    if (reported && strtoull(reported, NULL, 10))
        return strtoull(reported, NULL, 10);
#endif
    return LOG_ROTATION_BYTES;
}

/* The number of the file `name` in the folder of the log `base`; 0: not one of its rotated
 * files. */
static uint32_t number_of(const char *name, const char *base)
{
    size_t n_base = strlen(base);
    const char *digits = name + n_base + strlen(GENERATION);

    if (strncmp(name, base, n_base) != 0
        || strncmp(name + n_base, GENERATION, strlen(GENERATION)) != 0)
        return 0;
    size_t n_digits = strlen(digits);
    if (n_digits == 0 || n_digits > MAX_DIGITS || strspn(digits, "0123456789") != n_digits
        || *digits == '0')
        return 0;
    return (uint32_t)strtoul(digits, NULL, 10);
}

static int add(struct log_rotation *ring, uint32_t number)
{
    uint32_t *numbers =
        dynamic_array_reserve(ring->numbers, &ring->capacity, ring->n + 1, sizeof *numbers);

    if (!numbers)
        return ERROR_NOMEM;
    ring->numbers = numbers;
    numbers[ring->n++] = number;
    return 0;
}

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

int log_rotation_find(const char *log_path, struct log_rotation *ret)
{
    const char *slash = strrchr(log_path, '/');
    const char *base = slash ? slash + 1 : log_path;
    char *folder_path = slash ? strndup(log_path, (size_t)(base - log_path)) : strdup(".");
    DIR *folder = folder_path ? opendir(folder_path) : NULL;
    const struct dirent *entry;
    int code = folder_path ? 0 : ERROR_NOMEM;

    *ret = (struct log_rotation){0};
    while (code == 0 && folder && (entry = readdir(folder))) {
        uint32_t number = number_of(entry->d_name, base);
        if (number)
            code = add(ret, number);
    }
    if (folder)
        closedir(folder);
    free(folder_path);
    if (ret->n > 1)
        qsort(ret->numbers, ret->n, sizeof *ret->numbers, compare);
    if (code)
        log_rotation_done(ret);
    return code;
}

void log_rotation_done(struct log_rotation *ring)
{
    free(ring->numbers);
    *ring = (struct log_rotation){0};
}

static uint64_t bytes_of(char *name)
{
    struct stat status;
    uint64_t n_bytes = name && stat(name, &status) == 0 ? (uint64_t)status.st_size : 0;

    free(name);
    return n_bytes;
}

/* The part of the name after the log's name, which is `first` or LOG.PID.N of the same run. NULL:
 * no such log. */
static const char *behind_log(const char *name, const char *first)
{
    size_t n_first = strlen(first);
    const char *at = name + n_first;

    if (strncmp(name, first, n_first) != 0)
        return NULL;
    for (int i = 0; i < 2; i++) {
        size_t n = *at == '.' ? strspn(at + 1, "0123456789") : 0;
        if (n == 0)
            return i == 0 ? at : NULL;
        at += n + 1;
    }
    return at;
}

uint64_t log_rotation_run_bytes(const char *log_path)
{
    const char *slash = strrchr(log_path, '/');
    const char *first = slash ? slash + 1 : log_path;
    char *folder_path = slash ? strndup(log_path, (size_t)(first - log_path)) : strdup("./");
    DIR *folder = folder_path ? opendir(folder_path) : NULL;
    const struct dirent *entry;
    uint64_t n_bytes = 0;

    while (folder && (entry = readdir(folder))) {
        const char *behind = behind_log(entry->d_name, first);
        char *name = NULL;
        if (behind && number_of(behind, "")
            && asprintf(&name, "%s%s", folder_path, entry->d_name) >= 0)
            n_bytes += bytes_of(name);
    }
    if (folder)
        closedir(folder);
    free(folder_path);
    return n_bytes;
}

uint64_t log_rotation_state_bytes(const char *log_path)
{
    char *name = log_rotation_state_name(log_path);
    struct stat status;
    uint64_t n_bytes = 0;
    size_t n;
    int fd = -1;

    if (name)
        file_io_open_regular_foreign(name, &fd, &status);
    free(name);
    if (fd < 0)
        return 0;
    if (file_io_read(fd, &n_bytes, sizeof(n_bytes), LOG_ROTATION_STATE_END_AT, &n) != 0
        || n < sizeof(n_bytes) || n_bytes < LOG_FILE_HEADER_BYTES
        || n_bytes > (uint64_t)status.st_size)
        n_bytes = (uint64_t)status.st_size;
    close(fd);
    return n_bytes;
}

uint64_t log_rotation_max_bytes(const char *log_path)
{
    return LOG_ROTATION_MAX * log_rotation_bytes() + 2 * log_rotation_state_bytes(log_path);
}

bool log_rotation_is_part(const char *path)
{
    struct log_header header;
    struct stat status;
    size_t n = 0;
    int fd;

    file_io_open_regular_foreign(path, &fd, &status);
    if (fd < 0)
        return false;
    bool is_read = file_io_read(fd, &header, sizeof(header), 0, &n) == 0;
    close(fd);
    return is_read && n == sizeof(header) && log_header_is_packed(&header)
           && (header.flags & LOG_FLAG_BOUNDED);
}

static void remove_name(char *name)
{
    if (name && log_rotation_is_part(name))
        unlink(name);
    free(name);
}

void log_rotation_remove(const char *log_path)
{
    struct log_rotation ring;

    if (log_rotation_find(log_path, &ring) == 0)
        for (size_t i = 0; i < ring.n; i++)
            remove_name(log_rotation_name(log_path, ring.numbers[i]));
    log_rotation_done(&ring);
    remove_name(log_rotation_state_name(log_path));
    remove_name(unreadable_state_name(log_path));
}

static void move_name(char *name, char *new_name)
{
    if (name && new_name && log_rotation_is_part(name))
        (void)rename(name, new_name);
    free(name);
    free(new_name);
}

void log_rotation_move(const char *log_path, const char *new_path)
{
    struct log_rotation ring;

    if (log_rotation_find(log_path, &ring) == 0)
        for (size_t i = 0; i < ring.n; i++)
            move_name(log_rotation_name(log_path, ring.numbers[i]),
                      log_rotation_name(new_path, ring.numbers[i]));
    log_rotation_done(&ring);
    move_name(log_rotation_state_name(log_path), log_rotation_state_name(new_path));
    move_name(unreadable_state_name(log_path), unreadable_state_name(new_path));
}
