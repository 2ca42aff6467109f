/* SPDX-License-Identifier: MIT */
/*
 * family: the processes that the logs of a run speak of, and what became of each.
 *
 * Model:   one entry for each pid: what its parent's log said of it (LOG_DEF_CHILD), which program its
 *          own log named (LOG_DEF_PROCESS), how its last image ended. Fed with definitions as they are
 *          packed and with the end of each log; asked at the end of the run who is missing.
 * Invariants
 *   FM-1 Definitions may come any number of times, in any order; an entry says the same afterwards.
 * Threads: one.
 * Failure: without memory a process is not listed.
 */
#ifndef MTRACE_RECORDER_PROCESS_TREE_H
#define MTRACE_RECORDER_PROCESS_TREE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is to be said of a process. */
enum process_tree_status {
    PROCESS_TREE_RECORDED,   /* nothing */
    PROCESS_TREE_NO_LOG,     /* its parent announced it, but it made no log */
    PROCESS_TREE_WENT_ON,    /* its log ended with an exec, and none followed */
    PROCESS_TREE_RUNNING,    /* its log still grows */
    PROCESS_TREE_INCOMPLETE, /* its log lacks events */
    PROCESS_TREE_NO_ROOM,    /* it had no room for a log */
    PROCESS_TREE_PART_ROOM,  /* and one for another of its images */
    PROCESS_TREE_STATUSES,
};

struct process_tree;

/* NULL without memory; takes NULL. */
struct process_tree *process_tree_new(void);
void process_tree_free(struct process_tree *family);

/* Learns from n_bytes of a payload of definitions in the log of process `pid`. */
void process_tree_learn(struct process_tree *family, pid_t pid, const void *payload,
                        size_t n_bytes);

/* A log of process `pid` is there, and grows until process_tree_note_end. Not `is_here`: that is its number in
 * another pid namespace, and here another one's. */
void process_tree_note_log(struct process_tree *family, pid_t pid, bool is_here);

/* Process `pid` would have begun a log, and had no room for one. */
void process_tree_note_no_room(struct process_tree *family, pid_t pid);

/* The log of process `pid` stays raw, and was never read. */
void process_tree_note_raw(struct process_tree *family, pid_t pid);

/* A child of this one, which is in another pid namespace, has a log: under its pid there, and not under the one that was announced. */
void process_tree_note_renamed(struct process_tree *family, pid_t parent);

/* The log that began at start_ns ended so; n_dropped of its events are missing. */
void process_tree_note_end(struct process_tree *family, pid_t pid, enum log_end end_kind,
                           uint64_t start_ns, uint64_t n_dropped);

/* n processes were started by one whose log ended. */
void process_tree_note_started(struct process_tree *family, uint32_t n);

/* Is somebody alive who has no log yet, or may be: started, but not announced (daemon)? */
bool process_tree_is_expecting(const struct process_tree *family);

/* How many met this fate, and a list of the first: "12 (sh), 14 and 3 more". */
uint32_t process_tree_list(struct process_tree *family, enum process_tree_status status, char *text,
                           size_t n_bytes);

#endif
