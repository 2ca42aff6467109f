/* SPDX-License-Identifier: MIT */
/*
 * program: the program to record: where it is, how it is started, and why it may record nothing.
 *
 * program_start forks immediately, because the log's name needs the PID. The child process waits
 * for program_release, which sends it the settings of its collector, and then calls exec. A child
 * process that is never released exits without running anything.
 *
 * Invariants
 *   PR-1 The program inherits signal mask, dispositions, timers, limits and environment of
 *        mtrace-record, plus LD_PRELOAD and MTRACE_RECORDER.
 *
 * Notes: In LD_PRELOAD the collector precedes the user's own libraries.
 *
 * Errors: ERROR_NOT_FOUND (exit status 127) and ERROR_EXEC (126), both about the program itself.
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

/* State of this process that the program must inherit unchanged; taken before we change it. */
struct program_state {
    sigset_t mask;
    struct sigaction child_action, pipe_action, size_action;
    struct itimerval timers[PROGRAM_TIMERS]; /* by ITIMER_*; stopped at taken_ns */
    uint64_t taken_ns;
    int parent_death_signal; /* 0: none */
    struct rlimit descriptors;
    bool has_descriptors; /* `descriptors` is known */
};

struct program {
    char *path;  /* owned */
    char **argv; /* the caller's */
    pid_t pid;
    int settings_pipe; /* to the child */
    int failure_pipe;  /* from the child: errno of exec, or closed by a successful one */
    struct program_state state;
};

/* Stops the timers and saves them for the program: timers survive an exec but not a fork. */
void program_take_timers(struct program_state *state);

/* Finds argv[0] as execvp would and checks that it can be executed. */
int program_find(char **argv, struct program *ret_program, struct error *err);

/* Forks. `state` is what the program inherits. */
int program_start(struct program *program, const struct program_state *state, struct error *err);

/* Lets the child process exec with these settings ("NAME=value\n"…, without MTRACE_TARGET_PID) and
 * this library preloaded; NULL: no preload. */
int program_release(struct program *program, const char *library, const char *settings,
                    struct error *err);

/* Frees what program_find allocated and closes the pipes; does not wait for the process. */
void program_done(struct program *program);

/* Why this program cannot be recorded, as the end of "nothing was recorded: "; NULL if it can.
 * Static text. */
const char *program_explain(const char *path);

/* The name of this program, or of its interpreter, if it is known to do its work in processes that
 * it starts; NULL: it is not. Static text. */
const char *program_starts_others(const char *path, char *const *argv);

/* What is known of the program, or of its interpreter if it is a script. */
struct program_look {
    struct collector_library_kind kind;
    bool is_elf;          /* `kind` is known */
    bool has_no_loader;   /* a static program; the programs it starts may still load libraries */
    bool is_not_of_glibc; /* another libc's loader; cannot load our library */
};

struct program_look program_look(const char *path);

/* Replaces newlines between settings by the separator of environment variables
 * (lib/abi/settings.h). */
void program_join_settings(char *assignments);

#define PROGRAM_SENDER "../lib/mtrace/mtrace-send"

/* Path of another mtrace program beside this one; owned by the caller, NULL if it is not there. */
char *program_find_sibling(const char *name);

/* Part of a sentence: where the sibling was looked for, and what to do. */
void program_explain_sibling(const char *name, char *text, size_t n_bytes);

#endif
