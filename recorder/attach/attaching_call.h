/* SPDX-License-Identifier: MIT */
/*
 * attaching_call: what a process that runs shall call, and what came of it.
 */
#ifndef MTRACE_RECORDER_ATTACHING_CALL_H
#define MTRACE_RECORDER_ATTACHING_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Of searches for a thread at a safe place, one after the other: at first all the time, then for a small part of it, as those who are stopped
 * do nothing meanwhile, and we are above all others. All zero at first.
 */
struct attaching_pace {
    const char *why; /* it was not found last; static, NULL: nothing is known */
    uint64_t searched_ns;
    uint64_t rest_until_ns;
};

struct attaching_call {
    pid_t pid;
    const char *library; /* path */
    const char *
        function; /* NULL: none, and no thread is stopped; the result says whether somebody who was killed left code of ours */
    const char *argument;
    uint64_t time_limit_ns;      /* for how long a thread at a safe place is looked for */
    struct attaching_pace *pace; /* NULL: it is not tried again and again */
};

struct attaching_answer {
    int result;        /* of the function */
    bool is_busy;      /* none was at a safe place meanwhile: later one may be */
    uint64_t pause_ns; /* for which the thread did not do what it was about to */
};

#endif
