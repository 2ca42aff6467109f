/* SPDX-License-Identifier: MIT */
#include "lib/process/output_file.h"

#include "lib/base/error.h"
#include "lib/process/writer_liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_ATTEMPTS = 100
};

/* ---- state for a signal handler ---- */

enum {
    NOTHING, /* a file of ours to remove */
    UNFINISHED,
    COMMITTED,
    ABANDONED
};

static atomic_int state;
static char unfinished[PATH_MAX + 32]; /* its name if state is UNFINISHED */

static void note_unfinished(const char *temporary)
{
    atomic_store(&state, NOTHING);
    if (snprintf(unfinished, sizeof(unfinished), "%s", temporary) < (int)sizeof(unfinished))
        atomic_store(&state, UNFINISHED);
}

/* Commit and abandon race for the state; the first one decides. */
static void note_committed(const char *temporary)
{
    int was = UNFINISHED;

    if (strcmp(temporary, unfinished) != 0
        || atomic_compare_exchange_strong(&state, &was, COMMITTED))
        return;
    while (was == ABANDONED)
        (void)pause(); /* the handler ends the process */
}

/* The file under the temporary name will be written again. */
static void note_begun_again(const char *temporary)
{
    if (strcmp(temporary, unfinished) == 0)
        atomic_store(&state, UNFINISHED);
}

static void note_closed(const char *temporary)
{
    int was = UNFINISHED;

    if (strcmp(temporary, unfinished) == 0)
        (void)atomic_compare_exchange_strong(&state, &was, NOTHING);
}

bool output_file_abandon(void)
{
    int was = UNFINISHED;

    if (atomic_compare_exchange_strong(&state, &was, ABANDONED))
        (void)unlink(unfinished);
    return was != COMMITTED;
}

static int fail_exists(const char *target, struct error *err)
{
    return error_set(err, ERROR_EXISTS, "'%s' exists; --force replaces it", target);
}

/* ---- beginning ---- */

/* A descriptor of ours is written directly, even if it is a file. */
static bool is_descriptor(const char *target)
{
    return strcmp(target, "/dev/stdout") == 0 || strcmp(target, "/dev/stderr") == 0
           || strncmp(target, "/dev/fd/", 8) == 0 || strncmp(target, "/proc/", 6) == 0;
}

static bool is_written_itself(const char *target)
{
    struct stat status;

    return is_descriptor(target)
           || (stat(target, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

static int open_itself(struct output_file *file, struct error *err)
{
    file->fd = open(file->target, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    return file->fd >= 0 ? 0 : error_set_errno(err, errno, "cannot write '%s'", file->target);
}

/* ret_mode: that of a file to be replaced. */
static int check_target(const struct output_file *file, unsigned *ret_mode, struct error *err)
{
    struct stat status;

    if (lstat(file->target, &status) != 0)
        return 0; /* other errors in the name show when the file is created */
    if (S_ISDIR(status.st_mode))
        return error_set(err, ERROR_IO, "'%s' is a directory; name a file", file->target);
    if (!file->may_replace)
        return fail_exists(file->target, err);
    if (S_ISREG(status.st_mode))
        *ret_mode = status.st_mode & 0777;
    return 0;
}

/* ---- files left by killed processes ---- */

/* PIDs are comparable only within one boot and PID namespace, but a folder may be shared beyond. 0:
 * unknown. */
static unsigned pid_world(void)
{
    struct stat space;
    unsigned boot = 0;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!file || stat("/proc/self/ns/pid", &space) != 0 || fscanf(file, "%8x", &boot) != 1)
        boot = 0;
    if (file)
        (void)fclose(file);
    return boot ? boot ^ (unsigned)space.st_ino : 0;
}

/* Has make_temporary made this file for `base`, in a process that is dead? */
static bool is_left_behind(const char *name, const char *base, unsigned world)
{
    size_t length = strlen(base);
    unsigned other;
    long pid;
    int end = 0;

    if (strncmp(name, base, length) != 0
        || sscanf(name + length, OUTPUT_FILE_SUFFIX "%ld-%8x-%*d%n", &pid, &other, &end) != 2
        || end == 0 || name[length + (size_t)end] || other != world || pid <= 0 || pid > INT_MAX)
        return false;
    return !writer_liveness_is_alive((pid_t)pid);
}

static void remove_left_behind(const char *target, unsigned world)
{
    const char *slash = strrchr(target, '/');
    const char *base = slash ? slash + 1 : target;
    char *path = slash ? strndup(target, (size_t)(slash - target) + 1) : strdup(".");
    DIR *folder = world && path ? opendir(path) : NULL;
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (is_left_behind(entry->d_name, base, world))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        (void)closedir(folder);
    free(path);
}

/* Creates a temporary file with an unused name next to the target. */
static int make_temporary(struct output_file *file, unsigned mode, struct error *err)
{
    unsigned world = pid_world();
    int os_errno = EEXIST;

    remove_left_behind(file->target, world);
    for (int attempt = 0; attempt < MAX_ATTEMPTS && os_errno == EEXIST; attempt++) {
        if (asprintf(&file->temporary, "%s" OUTPUT_FILE_SUFFIX "%ld-%08x-%d", file->target,
                     (long)getpid(), world, attempt)
            < 0) {
            file->temporary = NULL;
            return error_set(err, ERROR_NOMEM, "no memory to write '%s'", file->target);
        }
        file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (file->fd >= 0) {
            note_unfinished(file->temporary);
            return 0;
        }
        os_errno = errno;
        free(file->temporary); /* not ours: nothing to remove */
        file->temporary = NULL;
    }
    return error_set_errno(err, os_errno, "cannot write '%s'", file->target);
}

int output_file_open(struct output_file *file, const char *target, bool may_replace, unsigned mode,
                     struct error *err)
{
    unsigned old_mode = ~0u;
    int rc;

    *file = (struct output_file){.fd = -1, .target = strdup(target), .may_replace = may_replace};
    if (!file->target)
        return error_set(err, ERROR_NOMEM, "no memory to write '%s'", target);
    if (is_written_itself(target))
        return open_itself(file, err);
    rc = check_target(file, &old_mode, err);
    if (rc == 0)
        rc = make_temporary(file, mode, err);
    if (rc == 0 && old_mode != ~0u && fchmod(file->fd, old_mode) != 0)
        rc = error_set_errno(err, errno, "cannot write '%s'", target);
    return rc;
}

/* ---- end ---- */

/* Where the file system lacks RENAME_NOREPLACE, a hard link fails if the target exists. Where it
 * lacks hard links, too, an empty file reserves the name. */
static int rename_to_new(const char *temporary, const char *target)
{
    int fd;

    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (link(temporary, target) == 0)
        return unlink(temporary) == 0 ? 0 : errno;
    if (errno == EEXIST)
        return EEXIST;
    fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    (void)close(fd);
    return rename(temporary, target) == 0 ? 0 : errno;
}

/* Makes the new name survive a crash of the machine; not every file system can. */
static void sync_folder(const char *target)
{
    char *copy = strdup(target);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(copy);
}

static int sync_file(int fd, const char *target, struct error *err)
{
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        return error_set_errno(err, errno, "cannot write '%s'", target);
    return 0;
}

static int rename_into_place(const char *temporary, const char *target, bool may_replace,
                             struct error *err)
{
    int os_errno;

    note_committed(temporary);
    if (may_replace)
        os_errno = rename(temporary, target) == 0 ? 0 : errno;
    else
        os_errno = rename_to_new(temporary, target);
    if (os_errno == EEXIST)
        return fail_exists(target, err);
    if (os_errno)
        return error_set_errno(err, os_errno, "cannot write '%s'", target);
    return 0;
}

int output_file_place(const char *temporary, const char *target, bool may_replace,
                      struct error *err)
{
    int fd = open(temporary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int rc = sync_file(fd, target, err);

    if (fd >= 0)
        (void)close(fd);
    if (rc == 0)
        rc = rename_into_place(temporary, target, may_replace, err);
    if (rc == 0)
        sync_folder(target);
    return rc;
}

static int close_descriptor(struct output_file *file, struct error *err)
{
    int fd = file->fd;

    file->fd = -1;
    if (fd >= 0 && close(fd) != 0)
        return error_set_errno(err, errno, "cannot write '%s'", file->target);
    return 0;
}

int output_file_commit(struct output_file *file, struct error *err)
{
    int rc = close_descriptor(file, err);

    if (rc != 0 || !file->temporary)
        return rc;
    rc = file->is_passing
             ? rename_into_place(file->temporary, file->target, file->may_replace, err)
             : output_file_place(file->temporary, file->target, file->may_replace, err);
    if (rc == 0) {
        free(file->temporary);
        file->temporary = NULL;
    }
    return rc;
}

/* OF-4; false: the two cannot be exchanged. */
static bool exchange(const struct output_file *file)
{
    struct stat old;

    if (lstat(file->target, &old) != 0
        || (S_ISREG(old.st_mode) && fchmod(file->fd, old.st_mode & 0777) != 0))
        return false;
    note_committed(file->temporary);
    return renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->target, RENAME_EXCHANGE) == 0;
}

/* Opens the replaced file. Not if it is a link, or has another name, too. */
static bool open_old(struct output_file *file)
{
    struct stat old;

    file->fd = open(file->temporary, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return file->fd >= 0 && fstat(file->fd, &old) == 0 && old.st_nlink == 1;
}

int output_file_swap(struct output_file *file, bool *ret_has_old, struct error *err)
{
    int rc = file->temporary && file->may_replace ? sync_file(file->fd, file->target, err) : 0;

    *ret_has_old = false;
    if (rc != 0)
        return rc;
    if (!file->temporary || !file->may_replace || !exchange(file))
        return output_file_commit(file, err);
    sync_folder(file->target);
    (void)close_descriptor(file, NULL); /* it was synced */
    *ret_has_old = open_old(file);
    if (*ret_has_old) {
        note_begun_again(file->temporary);
        return 0;
    }
    (void)close_descriptor(file, NULL);
    (void)unlink(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

void output_file_close(struct output_file *file)
{
    (void)close_descriptor(file, NULL);
    if (file->temporary) {
        (void)unlink(file->temporary);
        note_closed(file->temporary);
    }
    free(file->temporary);
    free(file->target);
    *file = (struct output_file){.fd = -1};
}

int output_file_check_input(const char *target, const char *input, struct error *err)
{
    struct stat written;
    struct stat read;

    if (!input || stat(target, &written) != 0 || stat(input, &read) != 0
        || written.st_dev != read.st_dev || written.st_ino != read.st_ino)
        return 0;
    return error_set(err, ERROR_USAGE, "'%s' is what is read; name another file to write", target);
}
