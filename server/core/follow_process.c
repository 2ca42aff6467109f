/* SPDX-License-Identifier: MIT */
#include "server/core/follow_process.h"

#include "lib/base/error.h"
#include "lib/sqlite/database_file.h"
#include "queries/api/import_first.h"
#include "server/core/file_state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum {
    LOOK_NS = 20 * 1000 * 1000
};

struct follow_process {
    pid_t pid;
    pthread_t thread;
    atomic_bool is_running;
};

static void *wait_for_end(void *context)
{
    struct follow_process *follower = context;
    siginfo_t info;

    /* The importer stays a zombie, so its PID is not reused before follow_process_stop has
     * used it. */
    while (waitid(P_PID, (id_t)follower->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        continue;
    atomic_store(&follower->is_running, false);
    return NULL;
}

/* Each round replaces the database file. */
static int await_round(const struct follow_process *follower, const char *database,
                       const struct stat *before, struct error *err)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    struct stat now;

    for (;;) {
        bool is_running = follow_process_is_running(follower);

        if (stat(database, &now) == 0 && file_state_has_changed(&now, before)
            && database_file_owner(database) == DATABASE_FILE_OURS)
            return 0;
        if (!is_running)
            return error_set(err, ERROR_EXEC, "'%s' cannot be followed", database);
        (void)nanosleep(&look, NULL);
    }
}

static int start(struct follow_process *follower, const char *log_path, const char *database,
                 struct error *err)
{
    struct stat before = {0};
    int code;
    int rc;

    (void)stat(database, &before);
    rc = import_first_follow(log_path, database, &follower->pid, err);
    if (rc != 0)
        return rc;
    atomic_init(&follower->is_running, true);
    code = pthread_create(&follower->thread, NULL, wait_for_end, follower);
    if (code != 0) {
        (void)kill(follower->pid, SIGKILL);
        (void)waitpid(follower->pid, NULL, 0);
        return error_set_errno(err, code, "cannot start a thread");
    }
    rc = await_round(follower, database, &before, err);
    if (rc != 0) {
        (void)pthread_join(follower->thread, NULL);
        (void)waitpid(follower->pid, NULL, 0);
    }
    return rc;
}

int follow_process_start(const char *log_path, char *ret_database, size_t size,
                         struct follow_process **ret, struct error *err)
{
    struct follow_process *follower;
    int rc = import_first_name(log_path, ret_database, size, err);

    if (rc != 0)
        return rc;
    follower = calloc(1, sizeof(*follower));
    if (!follower)
        return error_set(err, ERROR_NOMEM, "no memory to follow '%s'", log_path);
    rc = start(follower, log_path, ret_database, err);
    if (rc != 0)
        free(follower);
    else
        *ret = follower;
    return rc;
}

bool follow_process_is_running(const struct follow_process *follower)
{
    return atomic_load(&follower->is_running);
}

void follow_process_interrupt(const struct follow_process *follower)
{
    if (follower)
        (void)kill(follower->pid, SIGTERM);
}

void follow_process_stop(struct follow_process *follower)
{
    if (!follower)
        return;
    follow_process_interrupt(follower);
    (void)pthread_join(follower->thread, NULL);
    while (waitpid(follower->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    free(follower);
}
