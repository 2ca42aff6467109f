/* SPDX-License-Identifier: MIT */
/*
 * process_tree: the processes that the logs of a run mention, and the status of each.
 *
 * There is one entry for each PID: what its parent's log said of it (LOG_DEF_CHILD), the program
 * that its own log names (LOG_DEF_PROCESS), and how its last image ended. Input are the definitions
 * as they are packed, and the end of each log. At the end of the run it reports missing processes.
 *
 * Invariants
 *   FM-1 Definitions may come any number of times and in any order without changing an entry.
 *
 * Threads: one. Without memory a process is not listed.
 */
#ifndef MTRACE_RECORDER_PROCESS_TREE_H
#define MTRACE_RECORDER_PROCESS_TREE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the exit summary says of a process. */
enum process_tree_status {
    PROCESS_TREE_RECORDED,   /* nothing */
    PROCESS_TREE_NO_LOG,     /* its parent announced it, but it made no log */
    PROCESS_TREE_WENT_ON,    /* its log ended with an exec, and no log followed */
    PROCESS_TREE_RUNNING,    /* its log still grows */
    PROCESS_TREE_INCOMPLETE, /* its log lacks events */
    PROCESS_TREE_NO_ROOM,    /* no disk space for its log */
    PROCESS_TREE_PART_ROOM,  /* no disk space for the log of another of its images */
    PROCESS_TREE_STATUSES,
};

struct process_tree;

/* NULL without memory; takes NULL. */
struct process_tree *process_tree_new(void);
void process_tree_free(struct process_tree *process_tree);

/* Learns from n_bytes of definitions in the log of process `pid`. */
void process_tree_learn(struct process_tree *process_tree, pid_t pid, const void *payload,
                        size_t n_bytes);

/* Process `pid` has a log, which grows until process_tree_note_end. Not `is_here`: `pid` belongs to
 * another PID namespace, and to another process here. */
void process_tree_note_log(struct process_tree *process_tree, pid_t pid, bool is_here);

/* Process `pid` had no disk space for its log. */
void process_tree_note_no_room(struct process_tree *process_tree, pid_t pid);

/* The log of process `pid` stays raw and was never read. */
void process_tree_note_raw(struct process_tree *process_tree, pid_t pid);

/* A child of this parent has a log, but in another PID namespace: its PID differs from the
 * announced one. */
void process_tree_note_renamed(struct process_tree *process_tree, pid_t parent);

/* The log that began at start_ns ended like this; n_dropped events are missing. */
void process_tree_note_end(struct process_tree *process_tree, pid_t pid, enum log_end end_kind,
                           uint64_t start_ns, uint64_t n_dropped);

/* A process whose log ended had started n processes. */
void process_tree_note_started(struct process_tree *process_tree, uint32_t n);

/* A process without a log may be alive: started, or not even announced (daemon). */
bool process_tree_is_expecting(const struct process_tree *process_tree);

/* The number of processes with this status, and a list of the first: "12 (sh), 14 and 3 more". */
uint32_t process_tree_list(struct process_tree *process_tree, enum process_tree_status status,
                           char *text, size_t n_bytes);

#endif
