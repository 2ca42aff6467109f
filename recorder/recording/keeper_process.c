/* SPDX-License-Identifier: MIT */
#include "recorder/recording/keeper_process.h"

#include "recorder/recording/report_folder.h"
#include "support/cut_request.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_NOT_RUN = 127
};

/* The target says only where temporary files lie. ^C is the program's. */
static void become_keeper(int end, const char *import, const char *log_path, bool is_of_family)
{
    char target[PATH_MAX];
    sigset_t none;

    (void)snprintf(target, sizeof target, "%s/mtrace-keeper.db", report_folder_base());
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(end, STDIN_FILENO) >= 0)
        execl(import, import, "--keep", "--force", "--threads=1", log_path, target,
              is_of_family ? NULL : "--only", (char *)NULL);
    _exit(EXIT_NOT_RUN);
}

static void forget(struct keeper_process *keeper)
{
    close(keeper->end);
    *keeper = (struct keeper_process){.pid = 0};
}

void keeper_process_start(struct keeper_process *keeper, const char *import, const char *log_path,
                          bool is_of_family)
{
    int ends[2];

    if (keeper->pid > 0 && waitpid(keeper->pid, NULL, WNOHANG) == keeper->pid)
        forget(keeper);
    if (keeper->pid > 0 || !import || cut_request_open(ends) != 0)
        return;
    keeper->pid = fork();
    if (keeper->pid == 0)
        become_keeper(ends[1], import, log_path, is_of_family);
    keeper->end = ends[0];
    close(ends[1]);
    if (keeper->pid < 0)
        forget(keeper);
}

int keeper_process_end(const struct keeper_process *keeper)
{
    return keeper->pid > 0 ? keeper->end : -1;
}

void keeper_process_note_end(struct keeper_process *keeper, pid_t pid)
{
    if (keeper->pid > 0 && keeper->pid == pid)
        forget(keeper);
}

void keeper_process_done(struct keeper_process *keeper)
{
    if (keeper->pid <= 0)
        return;
    (void)kill(keeper->pid, SIGTERM);
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    forget(keeper);
}
