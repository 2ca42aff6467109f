/* SPDX-License-Identifier: MIT */
#include "recorder/session/follower_process.h"

#include "lib/logfile/log_rotation.h"
#include "lib/process/cut_request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the folder of a report ---- */

enum {
    MAX_TRIES = 8 /* a killed process may still create or remove one file */
};

const char *report_folder_base(void)
{
    const char *base = getenv("TMPDIR");

    return base && *base && access(base, W_OK | X_OK) == 0 ? base : "/tmp";
}

int report_folder_name(struct report_folder *folder)
{
    uint64_t number;
    int n;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return errno;
    n = snprintf(folder->path, sizeof folder->path, "%s/mtrace-%016" PRIx64, report_folder_base(),
                 number);
    return n < 0 || (size_t)n >= sizeof folder->path ? ENAMETOOLONG : 0;
}

int report_folder_make(const struct report_folder *folder)
{
    return mkdir(folder->path, 0700) == 0 ? 0 : errno;
}

static void empty(const char *path)
{
    DIR *files = opendir(path);
    const struct dirent *file;

    while (files && (file = readdir(files)))
        if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0)
            (void)unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
}

void report_folder_remove(struct report_folder *folder)
{
    for (unsigned i = 0; i < MAX_TRIES && *folder->path; i++) {
        if (rmdir(folder->path) == 0 || errno == ENOENT)
            break;
        empty(folder->path);
    }
    folder->path[0] = '\0';
}

/* ---- the follower ---- */

enum {
    EXIT_NOT_RUN = 127,
    NAP_NS = 2000000,
};

/* The pause before a restart, and its maximum if the follower keeps ending immediately. */
static const uint64_t min_pause_ns = 100000000;
static const uint64_t max_pause_ns = 60000000000;

/* The target only determines the folder of temporary files. The kernel kills the follower when
 * the recorder dies: a stopped one would not see EOF. Nothing is lost: a checkpoint is renamed
 * when complete (SF-1), and its events are removed only then. */
static void become_follower(const struct follower_process *follower, int end, const char *import)
{
    char target[PATH_MAX];

    (void)snprintf(target, sizeof target, "%s/mtrace-follower.db", report_folder_base());
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(end, STDIN_FILENO) >= 0)
        execl(import, import, follower->is_bounded ? "--keep-state" : "--keep", "--force",
              "--threads=1", follower->ring.log_path, target, (char *)NULL);
    _exit(EXIT_NOT_RUN);
}

static void hang_up(struct follower_process *follower)
{
    if (follower->is_connected)
        close(follower->end);
    follower->is_connected = false;
}

void follower_process_start(struct follower_process *follower, const char *import)
{
    int ends[2];
    pid_t pid;

    if (!child_process_has_ended(&follower->child, NULL))
        return;
    hang_up(follower);
    if (cut_request_open(ends) != 0)
        return;
    pid = child_process_start(&follower->child);
    if (pid == 0)
        become_follower(follower, ends[1], import);
    follower->end = ends[0];
    follower->is_connected = true;
    close(ends[1]);
    if (pid < 0)
        hang_up(follower);
}

void follower_process_keep_up(struct follower_process *follower, uint64_t now_ns,
                              const char *import)
{
    bool has_lasted;

    if (now_ns < follower->due_ns || follower->ring.written_bytes < log_rotation_bytes())
        return;
    follower->due_ns = now_ns + min_pause_ns;
    if (!child_process_has_ended(&follower->child, NULL))
        return;
    has_lasted = now_ns - follower->begun_ns > 2 * follower->pause_ns;
    follower->pause_ns = has_lasted ? min_pause_ns : 2 * follower->pause_ns;
    if (follower->pause_ns > max_pause_ns)
        follower->pause_ns = max_pause_ns;
    follower->begun_ns = now_ns;
    follower->due_ns = now_ns + follower->pause_ns;
    follower_process_start(follower, import);
}

int follower_process_request_fd(const struct follower_process *follower)
{
    return follower->is_connected ? follower->end : -1;
}

void follower_process_note_end(struct follower_process *follower, pid_t pid)
{
    if (follower->child.pid == pid && pid > 0) {
        follower->child = (struct child_process){.pid = 0};
        hang_up(follower);
    }
}

void follower_process_done(struct follower_process *follower)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};

    hang_up(follower);
    while (!child_process_end(&follower->child)) {
        follower->was_killed |= follower->child.is_killed;
        nanosleep(&nap, NULL);
    }
}
