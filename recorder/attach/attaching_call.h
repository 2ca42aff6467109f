/* SPDX-License-Identifier: MIT */
/*
 * attaching_call: what a running process shall call, and the result.
 */
#ifndef MTRACE_RECORDER_ATTACHING_CALL_H
#define MTRACE_RECORDER_ATTACHING_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The pace of repeated searches for a thread at a safe point. They begin without pauses and later
 * take a small part of the time, because stopped threads do nothing. All zero at first.
 */
struct attaching_pace {
    const char *why; /* why the last search failed; static, NULL: unknown */
    uint64_t searched_ns;
    uint64_t rest_until_ns;
};

struct attaching_call {
    pid_t pid;
    const char *library;  /* path */
    const char *function; /* NULL: only look for code of a killed recorder */
    const char *argument;
    bool begins;                 /* to record: refused if a thread is behind a seccomp filter */
    uint64_t time_limit_ns;      /* of the search for a thread at a safe point */
    struct attaching_pace *pace; /* NULL: a single search */
};

struct remote_call_result {
    int result;        /* of the function */
    bool is_busy;      /* no thread was at a safe point; one may be later */
    uint64_t pause_ns; /* how long the thread was held up */
};

#endif
