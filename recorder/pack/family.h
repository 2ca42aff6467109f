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
#ifndef MTRACE_RECORDER_FAMILY_H
#define MTRACE_RECORDER_FAMILY_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is to be said of a process. */
enum family_fate {
    FAMILY_RECORDED,   /* nothing */
    FAMILY_NO_LOG,     /* its parent announced it, but it made no log */
    FAMILY_WENT_ON,    /* its log ended with an exec, and none followed */
    FAMILY_RUNNING,    /* its log still grows */
    FAMILY_INCOMPLETE, /* its log lacks events */
    FAMILY_NO_ROOM,    /* it had no room for a log */
    FAMILY_PART_ROOM,  /* and one for another of its images */
    FAMILY_FATES,
};

struct family;

/* NULL without memory; takes NULL. */
struct family *family_new(void);
void family_free(struct family *family);

/* Learns from n_bytes of a payload of definitions in the log of process `pid`. */
void family_learn(struct family *family, pid_t pid, const void *payload, size_t n_bytes);

/* A log of process `pid` is there, and grows until family_note_end. Not `is_here`: that is its number in
 * another pid namespace, and here another one's. */
void family_note_log(struct family *family, pid_t pid, bool is_here);

/* Process `pid` would have begun a log, and had no room for one. */
void family_note_no_room(struct family *family, pid_t pid);

/* The log of process `pid` stays raw, and was never read. */
void family_note_raw(struct family *family, pid_t pid);

/* A child of this one, which is in another pid namespace, has a log: under its pid there, and not under the one that was announced. */
void family_note_renamed(struct family *family, pid_t parent);

/* The log that began at start_ns ended so; n_dropped of its events are missing. */
void family_note_end(struct family *family, pid_t pid, enum log_end end_kind, uint64_t start_ns,
                     uint64_t n_dropped);

/* n processes were started by one whose log ended. */
void family_note_started(struct family *family, uint32_t n);

/* Is somebody alive who has no log yet, or may be: started, but not announced (daemon)? */
bool family_is_expecting(const struct family *family);

/* How many met this fate, and a list of the first: "12 (sh), 14 and 3 more". */
uint32_t family_list(struct family *family, enum family_fate fate, char *text, size_t n_bytes);

#endif
