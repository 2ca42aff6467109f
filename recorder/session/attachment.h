/* SPDX-License-Identifier: MIT */
/*
 * attachment: a process that ran already when its recording began, and goes on when it ends.
 *
 * Model:   attachment_look and attachment_check before any file is made, attachment_begin once there is a pool for it, attachment_leave at the end. It is
 *          not our child: its end is seen by a pidfd, and how it ended by what it says itself.
 * Threads: one. Failure: one line, and the process is as it was.
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
    uint64_t pause_ns;     /* of the thread that attachment_begin interrupted */
    bool lacks_executable; /* attachment_begin found no reference of the executable to change */
    struct attaching_pace pace; /* of attachment_leave, which is tried again */
};

/* *ret_path: of its program, owned by the caller. */
int attachment_look(struct attachment *attachment, pid_t pid, char **ret_path, struct error *err);

/* Before files are made: fails where somebody records it, or did and has not left it, or where it writes a log that attachment_take_over would end, and cannot be
 * attached to. */
int attachment_check(const struct attachment *attachment, struct error *err);

/* The last thing before attachment_begin, as there is no way back: the log of a process that has the collector from its start, and whose mtrace-record is
 * gone, ends, and is named. Fails where somebody records it. */
int attachment_take_over(const struct attachment *attachment, struct error *err);

/* settings: for the collector, lines "NAME=value\n". Looks for an instant for two seconds. */
int attachment_begin(struct attachment *attachment, const char *settings, struct error *err);

bool attachment_has_ended(const struct attachment *attachment);

/* Restores its references; where somebody else did nothing is left to do. *ret_is_busy: it failed only because there was no instant for it in a moment: who tries on may succeed. */
int attachment_leave(struct attachment *attachment, bool *ret_is_busy, struct error *err);

/* The same, as well as it goes, for one that was forked from it, or is what it executed. */
void attachment_leave_also(pid_t pid);

/* What a recorder that could not be asked has of a process. */
struct attachment_left {
    char *log;         /* as the process names it; owned by the caller; NULL: not known, or gone */
    bool is_removed;   /* its log was, and so is what was in it */
    bool is_elsewhere; /* that is a name of another mount namespace */
    bool is_recorded;  /* the recorder is there, and ends by itself */
};

/* Of a process whose recorder is gone, or cannot be asked; tries until it succeeds, and says so. */
int attachment_detach(pid_t pid, struct attachment_left *ret_left, struct error *err);

void attachment_done(struct attachment *attachment);

#endif
