/* SPDX-License-Identifier: MIT */
/*
 * reporter: answers to questions about a recording that goes on, as of one instant.
 *
 * Model:   a process of its own has a database made of what the log and its pool hold up to that instant, which
 *          nobody else sees, and asks mtrace-query. The database comes from the importer that keeps up with the
 *          log since the first question (follower_process.h), or from one that begins at the start of the log. So an answer is right to the byte by the same
 *          code that is right at the end, the program does nothing for it, and we go on packing. The
 *          program asks through the header page of its live log (struct log_question): it has put a
 *          marker into the log, which is the instant, and reads the answer from a descriptor of ours.
 * Invariants
 *   RP-1 One question at a time of each log: the next one is looked at when the answer was read.
 *   RP-2 Whatever the header page says, words are the arguments of mtrace-query alone, and of no shell; and none of
 *        them names a file (mtrace-query --about), or has it wait: the program may have fewer privileges than we have.
 *   RP-3 A question is answered, if only by an error, unless we are killed: who is stopped among those who work for it is ended, be it the process
 *        that answers, the keeper (HE-2) or who works for one of them (CP-1). Who works is waited for.
 *   RP-4 What was made for an answer is gone with it, however the process ended.
 *   RP-5 Nobody waits for ever for another's question: mtrace-query waits for nobody but us, and is ended when it had a processor for half a minute. That is
 *        ten times what the dearest report takes of ten million allocations (leaks over a part of the run, 2.5 s), for slower machines.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_REPORT_SERVICE_H
#define MTRACE_RECORDER_REPORT_SERVICE_H

#include "lib/logfile/live_log.h"
#include "recorder/session/follower_process.h"
#include "recorder/session/report_folder.h"
#include "recorder/session/request_wakeup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Paths of our programs; NULL where they are not installed. */
struct report_service_programs {
    const char *import, *query;
};

struct report_service_job {
    const struct report_service_programs *programs;
    const char *log_path;     /* the packed file */
    const char *until_marker; /* the instant; NULL: until_ns of the run is */
    uint64_t until_ns;
    uint64_t marker_ticks;        /* of cut_request.h */
    uint64_t run_id;              /* of the log; the run's keeper has others, too */
    bool is_of_family;            /* not only of the process of the log */
    const char *const *questions; /* words of mtrace-query but for the database; ends with NULL */
    int fd;                       /* that answers are written to; of a file */
};

/* A process that answers, and its folder. All zero: none. */
struct report_service_work {
    struct child_process helper;
    struct report_folder folder;
};

/* Starts the process; it exits with 0, ERANGE when a rule of --fail-if holds and the answer is whole, or the errno value
 * of what went wrong, and then its complaint is all that was written. Returns an errno value when it was not started. The keeper is started, too. */
int report_service_start(const struct report_service_job *job, struct follower_process *follower,
                         struct report_service_work *work);

/* After it has ended, whoever waited. */
void report_service_end(struct report_service_work *work);

/* Ends what goes on, and waits for it. */
void report_service_stop(struct report_service_work *work);

/* The question of a program, on its way. All zero but for answer_fd = -1 is none. */
struct report_service {
    struct report_service_work work;
    struct follower_process own_follower;
    struct follower_process *
        follower; /* of the log, and of all who ask about it: own_follower; or of the run, which ends it */
    struct request_wakeup *wakeup; /* from the first question on; NULL: none */
    uint32_t number;               /* of the question that it answers, or that was answered last */
    int answer_fd;                 /* until the program has read it */
    bool has_ended;    /* the process that answers, as report_service_note_end was told */
    int wait_status;   /* then */
    off_t given_bytes; /* of it, in parts */
};

/* Is there a question that the next step begins to answer? */
bool report_service_is_asked(const struct report_service *reporter, const struct live_log *live);

/* Has somebody an answer to take, perhaps in parts, or will nobody wake us when he asks again? Then the next step is to be soon. */
bool report_service_is_awaited(const struct report_service *reporter);

/* Looks whether there is a question or an answer; cheap when there is not. */
void report_service_step(struct report_service *reporter, const struct live_log *live,
                         const char *log_path, const struct report_service_programs *programs);

/* Somebody who waits for any process got this one, which may be that of the question. */
void report_service_note_end(struct report_service *reporter, pid_t pid, int wait_status);

/* No more answers: what is on its way is ended. True: that is done; until then it is called again. */
bool report_service_try_done(struct report_service *reporter);

/* Until that is true. */
void report_service_done(struct report_service *reporter);

#endif
