/* SPDX-License-Identifier: MIT */
#include "server/core/recordings.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/sqlite/database_file.h"
#include "queries/api/import_first.h"
#include "queries/db/rundb.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <xxhash.h>

/* ---- importers of logs that grow ---- */

enum {
    LOOK_NS = 20 * 1000 * 1000
};

struct follow_process {
    pid_t pid;
    pthread_t thread;
    pthread_mutex_t lock; /* while it is held, a running importer keeps its PID */
    atomic_bool is_running;
};

static void *wait_for_end(void *context)
{
    struct follow_process *follower = context;
    siginfo_t info;

    while (waitid(P_PID, (id_t)follower->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        continue;
    (void)pthread_mutex_lock(&follower->lock);
    (void)waitpid(follower->pid, NULL, WNOHANG);
    atomic_store(&follower->is_running, false);
    (void)pthread_mutex_unlock(&follower->lock);
    return NULL;
}

/* True until the importer exits; after its last round the database has all rows. */
static bool follow_process_is_running(const struct follow_process *follower)
{
    return atomic_load(&follower->is_running);
}

/* Each round replaces the database file. */
static int await_round(const struct follow_process *follower, const char *database,
                       const struct stat *before, struct error *err)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    struct stat now;

    for (;;) {
        bool is_running = follow_process_is_running(follower);

        if (stat(database, &now) == 0 && recordings_file_has_changed(&now, before)
            && database_file_owner(database) == DATABASE_FILE_OURS)
            return 0;
        if (!is_running)
            return error_set(err, ERROR_EXEC, "'%s' cannot be followed", database);
        (void)nanosleep(&look, NULL);
    }
}

static int start_importer(struct follow_process *follower, const char *log_path,
                          const char *database, struct error *err)
{
    struct stat before = {0};
    int code;
    int rc;

    (void)stat(database, &before);
    rc = import_first_follow(log_path, database, &follower->pid, err);
    if (rc != 0)
        return rc;
    atomic_init(&follower->is_running, true);
    (void)pthread_mutex_init(&follower->lock, NULL);
    code = pthread_create(&follower->thread, NULL, wait_for_end, follower);
    if (code != 0) {
        (void)kill(follower->pid, SIGKILL);
        (void)waitpid(follower->pid, NULL, 0);
        return error_set_errno(err, code, "cannot start a thread");
    }
    rc = await_round(follower, database, &before, err);
    if (rc != 0)
        (void)pthread_join(follower->thread, NULL);
    return rc;
}

/* Waits for the first round. ret_database: the path of its database, beside the log. */
static int follow_process_start(const char *log_path, char *ret_database, size_t size,
                                struct follow_process **ret, struct error *err)
{
    struct follow_process *follower;
    int rc = import_first_name(log_path, ret_database, size, err);

    if (rc != 0)
        return rc;
    follower = calloc(1, sizeof(*follower));
    if (!follower)
        return error_set(err, ERROR_NOMEM, "no memory to follow '%s'", log_path);
    rc = start_importer(follower, log_path, ret_database, err);
    if (rc != 0)
        free(follower);
    else
        *ret = follower;
    return rc;
}

/* Tells the importer to exit; follow_process_stop waits for it. NULL is fine. */
static void follow_process_interrupt(struct follow_process *follower)
{
    if (!follower)
        return;
    (void)pthread_mutex_lock(&follower->lock);
    if (follow_process_is_running(follower))
        (void)kill(follower->pid, SIGTERM);
    (void)pthread_mutex_unlock(&follower->lock);
}

/* NULL is fine. */
static void follow_process_stop(struct follow_process *follower)
{
    if (!follower)
        return;
    follow_process_interrupt(follower);
    (void)pthread_join(follower->thread, NULL);
    (void)pthread_mutex_destroy(&follower->lock);
    free(follower);
}

/* ---- databases ---- */

static const char first_process_sql[] =
    "SELECT start_unix_ns, pid, executable, (SELECT max(end_ns) FROM processes),"
    " (SELECT count(*) FROM processes) FROM processes ORDER BY process_id LIMIT 1";

static const char largest_process_sql[] =
    "SELECT process_id, start_unix_ns, start_ns, duration_ns, peak_ns, peak_bytes FROM processes"
    " ORDER BY peak_bytes DESC, process_id LIMIT 1";

static void make_id(struct recording *recording, int64_t pid)
{
    char text[PATH_MAX + 64];
    XXH128_hash_t hash;
    int length =
        snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %s", recording->start_unix_ns, pid,
                 recording->executable ? recording->executable : "");

    hash = XXH3_128bits(text, length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1);
    (void)snprintf(recording->id, sizeof(recording->id), "%016" PRIx64 "%016" PRIx64, hash.high64,
                   hash.low64);
}

/* An id that no recording of the list has. */
static void make_id_other(const struct recordings *recordings, struct recording *recording)
{
    for (uint64_t n = 2; recordings_find(recordings, recording->id); n++) {
        XXH128_hash_t hash = XXH3_128bits_withSeed(recording->id, strlen(recording->id), n);

        (void)snprintf(recording->id, sizeof(recording->id), "%016" PRIx64 "%016" PRIx64,
                       hash.high64, hash.low64);
    }
}

static int read_first_process(const struct rundb *database, struct recording *recording,
                              struct error *err)
{
    struct sqlite3_stmt *stmt;
    const char *executable;
    int rc = rundb_prepare(database, first_process_sql, &stmt, err);

    if (rc != 0)
        return rc;
    rc = rundb_step(database, stmt, err);
    if (rc == 1) {
        executable = (const char *)sqlite3_column_text(stmt, 2);
        recording->start_unix_ns = sqlite3_column_int64(stmt, 0);
        recording->executable = executable ? strdup(executable) : NULL;
        recording->duration_ns = sqlite3_column_int64(stmt, 3);
        recording->n_processes = sqlite3_column_int64(stmt, 4);
        make_id(recording, sqlite3_column_int64(stmt, 1));
    }
    sqlite3_finalize(stmt);
    if (rc == 0)
        return error_set(err, ERROR_FORMAT, "'%s' has no process in it; import the recording again",
                         database->path);
    return rc < 0 ? rc : 0;
}

static int64_t known_or(struct sqlite3_stmt *row, int column, int64_t otherwise)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? otherwise
                                                           : sqlite3_column_int64(row, column);
}

static int read_largest_process(const struct rundb *database, struct recording *recording,
                                struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(database, largest_process_sql, &stmt, err);

    if (rc != 0)
        return rc;
    rc = rundb_step(database, stmt, err);
    if (rc == 1) {
        recording->largest =
            (struct recording_process){.process_id = sqlite3_column_int64(stmt, 0),
                                       .start_unix_ns = sqlite3_column_int64(stmt, 1),
                                       .start_ns = sqlite3_column_int64(stmt, 2),
                                       .duration_ns = sqlite3_column_int64(stmt, 3),
                                       .peak_ns = known_or(stmt, 4, RECORDINGS_NO_PEAK),
                                       .peak_bytes = known_or(stmt, 5, RECORDINGS_NO_PEAK)};
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

static const char *last_piece(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int read_recording(const char *path, struct recording *recording, struct error *err)
{
    struct rundb database;
    int rc;

    (void)stat(path, &recording->read); /* before it is read */
    rc = rundb_open(&database, path, NULL, err);
    if (rc != 0)
        return rc;
    rc = read_first_process(&database, recording, err);
    if (rc == 0)
        rc = read_largest_process(&database, recording, err);
    rundb_close(&database);
    recording->path = rc == 0 ? strdup(path) : NULL;
    if (rc == 0 && !recording->path)
        return error_set(err, ERROR_NOMEM, "no memory for the list of recordings");
    if (rc == 0)
        recording->name = last_piece(recording->path);
    return rc;
}

static int add_file(struct recordings *recordings, const char *path, struct error *err)
{
    struct recording recording = {0};
    struct recording *larger;
    int rc = read_recording(path, &recording, err);

    if (rc != 0) {
        free(recording.executable);
        return rc;
    }
    make_id_other(recordings, &recording);
    larger = dynamic_array_reserve(recordings->items, &recordings->capacity,
                                   recordings->n_items + 1, sizeof(*larger));
    if (!larger) {
        free(recording.executable);
        free(recording.path);
        return error_set(err, ERROR_NOMEM, "no memory for the list of recordings");
    }
    recordings->items = larger;
    recordings->items[recordings->n_items++] = recording;
    return 0;
}

/* Files that cannot be read are skipped: a folder may contain anything. */
static int add_folder(struct recordings *recordings, const char *path, struct error *err)
{
    size_t n_before = recordings->n_items;
    struct dirent **names;
    char file[PATH_MAX];
    int n_names = scandir(path, &names, NULL, alphasort);

    if (n_names < 0)
        return error_set_errno(err, errno, "cannot read the folder '%s'", path);
    for (int i = 0; i < n_names; i++) {
        int length = snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);

        if (length < (int)sizeof(file) && database_file_owner(file) == DATABASE_FILE_OURS)
            (void)add_file(recordings, file, NULL);
        free(names[i]);
    }
    free(names);
    if (recordings->n_items == n_before)
        return error_set(err, ERROR_NOT_FOUND,
                         "no database of mtrace is in the folder '%s'; mtrace-import makes them",
                         path);
    return 0;
}

int recordings_add(struct recordings *recordings, const char *path, struct error *err)
{
    struct stat status;
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);

    return is_folder ? add_folder(recordings, path, err) : add_file(recordings, path, err);
}

int recordings_follow(struct recordings *recordings, const char *log_path, struct error *err)
{
    struct follow_process *follower = NULL;
    char database[PATH_MAX];
    int rc = follow_process_start(log_path, database, sizeof(database), &follower, err);

    if (rc == 0)
        rc = add_file(recordings, database, err);
    if (rc != 0)
        follow_process_stop(follower);
    else
        recordings->items[recordings->n_items - 1].follower = follower;
    return rc;
}

bool recording_is_growing(const struct recording *recording)
{
    return recording->follower && follow_process_is_running(recording->follower);
}

void recordings_read_again(const struct recording *recording, struct recording *ret_now)
{
    struct recording now = {0};
    struct stat status;

    *ret_now = *recording;
    ret_now->executable = NULL;
    ret_now->path = NULL;
    if (stat(recording->path, &status) != 0
        || !recordings_file_has_changed(&status, &recording->read))
        return;
    if (read_recording(recording->path, &now, NULL) == 0) {
        ret_now->duration_ns = now.duration_ns;
        ret_now->n_processes = now.n_processes;
        ret_now->largest = now.largest;
    }
    recordings_read_done(&now);
}

void recordings_read_done(struct recording *now)
{
    free(now->executable);
    free(now->path);
    now->executable = now->path = NULL;
}

void recordings_interrupt(const struct recordings *recordings)
{
    for (size_t i = 0; i < recordings->n_items; i++)
        follow_process_interrupt(recordings->items[i].follower);
}

void recordings_done(struct recordings *recordings)
{
    for (size_t i = 0; i < recordings->n_items; i++) {
        follow_process_stop(recordings->items[i].follower);
        free(recordings->items[i].path);
        free(recordings->items[i].executable);
    }
    free(recordings->items);
    *recordings = (struct recordings){0};
}

static const struct recording *find_last(const struct recordings *recordings)
{
    const struct recording *last = NULL;

    for (size_t i = 0; i < recordings->n_items; i++)
        if (!last || recordings->items[i].start_unix_ns > last->start_unix_ns)
            last = &recordings->items[i];
    return last;
}

const struct recording *recordings_find(const struct recordings *recordings, const char *id)
{
    if (strcmp(id, "last") == 0)
        return find_last(recordings);
    for (size_t i = 0; i < recordings->n_items; i++)
        if (strcmp(recordings->items[i].id, id) == 0)
            return &recordings->items[i];
    return NULL;
}
