/* SPDX-License-Identifier: MIT */
#include "recorder/session/keeper_process.h"

#include "lib/logfile/log_rotation.h"
#include "lib/process/cut_request.h"
#include "recorder/session/report_folder.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_NOT_RUN = 127,
    NAP_NS = 2000000,
};

/* Between looks whether it is there; and the longest between two that ended at once. */
static const uint64_t least_pause_ns = 100000000;
static const uint64_t most_pause_ns = 60000000000;

/* The target says only where temporary files lie. Who is stopped hears no other signal when we are gone; nothing is lost, as a state has its name when it is
 * whole (SF-1), and its events go only then. */
static void become_keeper(const struct keeper_process *keeper, int end, const char *import,
                          const char *log_path, bool is_of_family)
{
    char target[PATH_MAX];

    (void)snprintf(target, sizeof target, "%s/mtrace-keeper.db", report_folder_base());
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(end, STDIN_FILENO) >= 0)
        execl(import, import, keeper->ring.log_path ? "--keep-state" : "--keep", "--force",
              "--threads=1", keeper->ring.log_path ? keeper->ring.log_path : log_path, target,
              is_of_family || keeper->ring.log_path ? NULL : "--only", (char *)NULL);
    _exit(EXIT_NOT_RUN);
}

static void hang_up(struct keeper_process *keeper)
{
    if (keeper->is_connected)
        close(keeper->end);
    keeper->is_connected = false;
}

void keeper_process_start(struct keeper_process *keeper, const char *import, const char *log_path,
                          bool is_of_family)
{
    int ends[2];
    pid_t pid;

    if (!child_process_has_ended(&keeper->helper, NULL))
        return;
    hang_up(keeper);
    if (cut_request_open(ends) != 0)
        return;
    pid = child_process_start(&keeper->helper);
    if (pid == 0)
        become_keeper(keeper, ends[1], import, log_path, is_of_family);
    keeper->end = ends[0];
    keeper->is_connected = true;
    close(ends[1]);
    if (pid < 0)
        hang_up(keeper);
}

void keeper_process_keep_up(struct keeper_process *keeper, uint64_t now_ns, const char *import)
{
    bool has_lasted;

    if (now_ns < keeper->due_ns || keeper->ring.written_bytes < log_rotation_bytes())
        return;
    keeper->due_ns = now_ns + least_pause_ns;
    if (!child_process_has_ended(&keeper->helper, NULL))
        return;
    has_lasted = now_ns - keeper->begun_ns > 2 * keeper->pause_ns;
    keeper->pause_ns = has_lasted ? least_pause_ns : 2 * keeper->pause_ns;
    if (keeper->pause_ns > most_pause_ns)
        keeper->pause_ns = most_pause_ns;
    keeper->begun_ns = now_ns;
    keeper->due_ns = now_ns + keeper->pause_ns;
    keeper_process_start(keeper, import, keeper->ring.log_path, true);
}

int keeper_process_end(const struct keeper_process *keeper)
{
    return keeper->is_connected ? keeper->end : -1;
}

void keeper_process_note_end(struct keeper_process *keeper, pid_t pid)
{
    if (keeper->helper.pid == pid && pid > 0) {
        keeper->helper = (struct child_process){.pid = 0};
        hang_up(keeper);
    }
}

bool keeper_process_try_done(struct keeper_process *keeper)
{
    bool is_gone;

    hang_up(keeper);
    is_gone = child_process_end(&keeper->helper);
    keeper->was_killed |= keeper->helper.is_killed;
    return is_gone;
}

void keeper_process_done(struct keeper_process *keeper)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};

    while (!keeper_process_try_done(keeper))
        nanosleep(&nap, NULL);
}
