/* SPDX-License-Identifier: MIT */
/*
 * program: the program to record: where it is, how it is started, and why it may record nothing.
 *
 * Model:   program_start forks at once, so that the pid is known for the log's name; the child
 * waits for program_release, which tells it the settings for its collector, and then execs. A child
 * that is never released exits without having run anything. Invariants PR-1 The program gets the
 * signal mask, dispositions, timers, limits and environment that this process was started with, plus
 * LD_PRELOAD (the collector before the user's own) and the one variable MTRACE_RECORDER. Failure:
 * ERROR_NOT_FOUND (exit status 127) and ERROR_EXEC (126) of the program itself.
 */
#ifndef MTRACE_RECORDER_PROGRAM_H
#define MTRACE_RECORDER_PROGRAM_H

#include "lib/base/error.h"
#include "recorder/session/collector_library.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>

enum {
    PROGRAM_TIMERS = 3
};

/* What of our own state the program must not inherit; taken before we change it. */
struct program_state {
    sigset_t mask;
    struct sigaction child_action, pipe_action, size_action;
    struct itimerval timers[PROGRAM_TIMERS]; /* by ITIMER_*; they were stopped at taken_ns */
    uint64_t taken_ns;
    int parent_free_event_signal; /* 0: none */
    struct rlimit descriptors;
    bool has_descriptors; /* it is known */
};

struct program {
    char *path;  /* owned */
    char **argv; /* the caller's */
    pid_t pid;
    int settings_pipe; /* to the child */
    int failure_pipe;  /* from the child: errno of exec, or closed by a successful one */
    struct program_state state;
};

/* Timers survive an exec, but no fork: those that run here are the program's. Stops them. */
void program_take_timers(struct program_state *state);

/* Finds argv[0] as execvp would and checks that it can be executed. */
int program_find(char **argv, struct program *ret_program, struct error *err);

/* Forks. `state` is what the program shall inherit. */
int program_start(struct program *program, const struct program_state *state, struct error *err);

/* Lets the child exec with these settings ("NAME=value\n"…, without MTRACE_TARGET_PID) and this
 * library preloaded; NULL for no preload. */
int program_release(struct program *program, const char *library, const char *settings,
                    struct error *err);

/* Frees what program_find allocated and closes the pipes; the process is not waited for. */
void program_done(struct program *program);

/* Why a program like this cannot be recorded, as the end of "nothing was recorded: "; NULL if it
 * could. Static text. */
const char *program_explain(const char *path);

/* What is known of the program, or of the interpreter that runs it. */
struct program_look {
    struct collector_library_kind kind;
    bool is_elf;        /* and `kind` is known */
    bool has_no_loader; /* as a static program: what it starts may load libraries */
    bool
        is_not_of_glibc; /* it has the loader of another libc, and does not start with a library of ours */
};

struct program_look program_look(const char *path);

/* Settings of one line each, as they are in a variable (lib/abi/settings.h). */
void program_join_settings(char *assignments);

#define PROGRAM_SENDER "../lib/mtrace/mtrace-send"

/* Path of another program of ours, beside this one; owned by the caller, NULL if not there. */
char *program_find_sibling(const char *name);

/* Why it is not, as a part of a sentence: where it was looked for, and what to do. */
void program_explain_sibling(const char *name, char *text, size_t n_bytes);

#endif
