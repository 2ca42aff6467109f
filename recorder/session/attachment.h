/* SPDX-License-Identifier: MIT */
/*
 * attachment: a process that ran before its recording began and continues after it.
 *
 * Call attachment_look and attachment_check before any file is created, attachment_begin when there
 * is a live log, attachment_detach_step at the end. The process is not our child: a pidfd shows its
 * end, and its own log how it ended.
 *
 * Threads: one. Errors: one line; the process is unchanged.
 */
#ifndef MTRACE_RECORDER_ATTACHMENT_H
#define MTRACE_RECORDER_ATTACHMENT_H

#include "lib/base/error.h"
#include "recorder/attach/attaching_call.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attachment {
    pid_t pid; /* 0: there is none */
    int pidfd;
    char *library;         /* owned */
    uint64_t pause_ns;     /* how long attachment_begin interrupted the thread */
    bool lacks_executable; /* attachment_begin could rebind no allocation of the executable */
    char children[128];    /* children that ran before: "12, 14 and 3 more" */
    uint32_t n_children;
    struct attaching_pace pace; /* of repeated attachment_detach_step calls */
};

/* *ret_path: the path of its program, owned by the caller. */
int attachment_look(struct attachment *attachment, pid_t pid, char **ret_path, struct error *err);

/* Call before files are created. Fails if the process is recorded, was recorded and not
 * detached, or writes a log that attachment_take_over would end although the process cannot be
 * attached to. */
int attachment_check(const struct attachment *attachment, struct error *err);

/* Call directly before attachment_begin, as it cannot be undone. If the process was started with
 * the collector and its mtrace-record has exited, its log is ended, and named in a message. Fails
 * if the process is recorded. */
int attachment_take_over(const struct attachment *attachment, struct error *err);

/* settings: lines "NAME=value\n" for the collector. Looks for a safe point for 2 s. */
int attachment_begin(struct attachment *attachment, const char *settings, struct error *err);

bool attachment_has_ended(const struct attachment *attachment);

/* Restores GOT slots; succeeds also if that was done already. *ret_is_busy: it failed only because
 * there was no safe point just now; trying again may help. */
int attachment_detach_step(struct attachment *attachment, bool *ret_is_busy, struct error *err);

/* Best-effort detach of a child process or exec successor of the attached process. */
void attachment_leave_also(pid_t pid);

/* What attachment_detach found about a process and its recorder. */
struct attachment_left {
    char *log;       /* the process's name for it; owned by the caller; NULL: unknown or deleted */
    bool is_removed; /* its log was deleted, with its content */
    bool is_elsewhere; /* `log` is a name in another mount namespace */
    bool is_recorded;  /* its recorder runs, and ends by itself */
};

/* Detaches a process whose recorder has exited or cannot be reached. Repeats until it succeeds, and
 * says so. */
int attachment_detach(pid_t pid, struct attachment_left *ret_left, struct error *err);

void attachment_done(struct attachment *attachment);

#endif
