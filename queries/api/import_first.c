/* SPDX-License-Identifier: MIT */
#include "queries/api/import_first.h"

#include "lib/abi/log_format.h"
#include "lib/base/error.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"
#include "lib/sqlite/database_file.h"
#include "queries/db/rundb.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char log_suffix[] = ".dat";
static const char importer[] = "mtrace-import";

bool import_first_is_log(const char *path)
{
    size_t length = strlen(path);

    return length > strlen(log_suffix)
           && strcmp(path + length - strlen(log_suffix), log_suffix) == 0;
}

static bool is_newer(const struct stat *database, const struct stat *log)
{
    return file_io_modified_ns(database) >= file_io_modified_ns(log);
}

/* False if it is not a log of mtrace, for example one of heaptrack. */
static bool read_header(const char *path, struct log_header *ret_header)
{
    FILE *file = fopen(path, "re");
    bool is_read = file && fread(ret_header, sizeof(*ret_header), 1, file) == 1;

    if (file)
        (void)fclose(file);
    return is_read && log_header_is_ours(ret_header);
}

static int count_processes(const struct rundb *database, const struct log_header *header,
                           int64_t *ret_n, struct error *err)
{
    char sql[128];

    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(*) FROM processes WHERE pid = %" PRIu32
                   " AND start_unix_ns = %" PRIu64,
                   header->pid, header->start_unix_ns);
    return rundb_get_int64(database, sql, ret_n, err);
}

/* The modification time of the pool of a live log is unreliable. */
static int count_running(const struct rundb *database, int64_t *ret_n, struct error *err)
{
    return rundb_get_int64(database,
                           "SELECT count(*) FROM processes WHERE end_kind = 'running' "
                           "AND NOT EXISTS (SELECT 1 FROM meta WHERE key LIKE 'import.until%')",
                           ret_n, err);
}

/* A log that was moved here keeps its time and may be older than another run's database. */
static int holds(const char *database_path, const char *log_path, bool *ret_holds,
                 struct error *err)
{
    struct rundb database;
    struct log_header header;
    int64_t n = 0;
    int64_t n_running = 0;
    int rc;

    *ret_holds = true;
    if (!read_header(log_path, &header))
        return 0;
    rc = rundb_open(&database, database_path, NULL, err);
    if (rc == ERROR_VERSION)
        *ret_holds = false;
    if (rc != 0)
        return rc == ERROR_VERSION ? 0 : rc;
    rc = count_processes(&database, &header, &n, err);
    if (rc == 0)
        rc = count_running(&database, &n_running, err);
    rundb_close(&database);
    *ret_holds = n > 0 && n_running == 0;
    return rc;
}

/* The newest time of the log and of the files imported with it: exec successors, children, parts of
 * a bounded log. All are named LOG.something. An unrelated file of such a name only costs an extra
 * import. */
static bool is_newer_than_all(const struct stat *database, const char *log_path)
{
    const char *slash = strrchr(log_path, '/');
    const char *base = slash ? slash + 1 : log_path;
    size_t n_base = strlen(base);
    char folder_path[PATH_MAX];
    const struct dirent *entry;
    bool is_newest = true;
    DIR *folder;

    (void)snprintf(folder_path, sizeof(folder_path), "%.*s", (int)(base - log_path), log_path);
    folder = opendir(slash ? folder_path : ".");
    while (folder && is_newest && (entry = readdir(folder))) {
        struct stat file;
        if (strncmp(entry->d_name, base, n_base) == 0 && entry->d_name[n_base] == '.'
            && fstatat(dirfd(folder), entry->d_name, &file, 0) == 0)
            is_newest = is_newer(database, &file);
    }
    if (folder)
        (void)closedir(folder);
    return is_newest;
}

static int fail_foreign(const char *database_path, const char *log_path, struct error *err)
{
    return error_set(err, ERROR_EXISTS,
                     "'%s' exists and is not a database of mtrace; use mtrace-import %s and "
                     "the name of another database",
                     database_path, log_path);
}

static int check_database(const char *database_path, const char *log_path, bool *ret_is_current,
                          struct error *err)
{
    struct stat log;
    struct stat database;

    *ret_is_current = false;
    if (stat(log_path, &log) != 0)
        return error_set_errno(err, errno, "cannot open '%s'", log_path);
    switch (database_file_owner(database_path)) {
    case DATABASE_FILE_ABSENT:
        return 0;
    case DATABASE_FILE_FOREIGN:
        return fail_foreign(database_path, log_path, err);
    case DATABASE_FILE_OURS:
        break;
    }
    if (stat(database_path, &database) != 0 || !is_newer(&database, &log)
        || !is_newer_than_all(&database, log_path))
        return 0;
    return holds(database_path, log_path, ret_is_current, err);
}

/* The path of the program beside this one; if there is none, its name, to be found in PATH. */
static void find_importer(char *path, size_t size)
{
    char *slash;

    (void)file_io_link_target("/proc/self/exe", path, size);
    slash = strrchr(path, '/');
    if (slash && (size_t)(slash + 1 - path) + sizeof(importer) <= size) {
        memcpy(slash + 1, importer, sizeof(importer));
        if (access(path, X_OK) == 0)
            return;
    }
    memcpy(path, importer, sizeof(importer));
}

static int start(const char *option, const char *log_path, const char *database_path,
                 const posix_spawnattr_t *attributes, pid_t *ret_pid, struct error *err)
{
    char program[PATH_MAX];
    char force[] = "--force";
    char *const arguments[] = {program,
                               force,
                               (char *)(uintptr_t)option,
                               (char *)(uintptr_t)log_path,
                               (char *)(uintptr_t)database_path,
                               NULL};
    int code;

    find_importer(program, sizeof(program));
    code = posix_spawnp(ret_pid, program, NULL, attributes, arguments, environ);
    return code == 0
               ? 0
               : error_set_errno(err, code, "cannot run '%s' to import '%s'", program, log_path);
}

int import_first_follow(const char *log_path, const char *database_path, pid_t *ret_pid,
                        struct error *err)
{
    posix_spawnattr_t attributes;
    struct log_header header;
    sigset_t none;
    int rc;

    if (read_header(log_path, &header) && (header.flags & LOG_FLAG_BOUNDED))
        return error_set(
            err, ERROR_FORMAT,
            "'%s' was recorded with --aggregate, and cannot be followed, because its events are "
            "removed while it grows: run mtrace-import -f %s repeatedly, and serve the database",
            log_path, log_path);
    if (database_file_owner(database_path) == DATABASE_FILE_FOREIGN)
        return fail_foreign(database_path, log_path, err);
    if (posix_spawnattr_init(&attributes) != 0)
        return error_set(err, ERROR_NOMEM, "no memory to start mtrace-import");
    (void)sigemptyset(&none);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    rc = start("--follow", log_path, database_path, &attributes, ret_pid, err);
    (void)posix_spawnattr_destroy(&attributes);
    return rc;
}

int import_first_run(const char *log_path, const char *database_path, struct error *err)
{
    pid_t pid;
    int status;
    int rc = start("--", log_path, database_path, NULL, &pid, err);

    if (rc != 0)
        return rc;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return error_set_errno(err, errno, "cannot wait for '%s'", importer);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, ERROR_EXEC, "'%s' was not imported", log_path);
    return 0;
}

int import_first_name(const char *log_path, char *ret_path, size_t size, struct error *err)
{
    int length = (int)(strlen(log_path) - strlen(log_suffix));

    if (snprintf(ret_path, size, "%.*s.db", length, log_path) >= (int)size)
        return error_set(err, ERROR_USAGE, "the name '%.200s' is too long", log_path);
    return 0;
}

int import_first_find(const char *log_path, char *ret_path, size_t size, bool *ret_is_current,
                      struct error *err)
{
    int rc = import_first_name(log_path, ret_path, size, err);

    return rc == 0 ? check_database(ret_path, log_path, ret_is_current, err) : rc;
}

bool import_first_find_newer(const char *database_path, char *ret_path, size_t size)
{
    static const char suffix[] = ".db";
    size_t length = strlen(database_path);
    struct log_header header;
    struct stat database;
    struct stat log;

    if (length <= strlen(suffix) || strcmp(database_path + length - strlen(suffix), suffix) != 0)
        return false;
    length -= strlen(suffix);
    return snprintf(ret_path, size, "%.*s%s", (int)length, database_path, log_suffix) < (int)size
           && stat(database_path, &database) == 0 && stat(ret_path, &log) == 0
           && !is_newer(&database, &log) && read_header(ret_path, &header);
}
