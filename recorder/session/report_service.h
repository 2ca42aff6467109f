/* SPDX-License-Identifier: MIT */
/*
 * report_service: answers requests for reports about a recording that is still running, as of one
 * time.
 *
 * A child process builds a private database from what the log and its live log hold up to that
 * time, and runs mtrace-query on it. The database comes from the follower, which reads the log
 * incrementally since the first request (follower_process.h). Live reports therefore use the same
 * code as reports after the end, the program does no extra work, and packing continues. The program
 * requests reports over the control socket (control_server.h, struct log_mailbox). A marker that it
 * has written into the log defines the time of the report. The program gets the descriptor of a
 * file with the answer.
 *
 * Invariants
 *   RP-1 Each log has one request at a time; others wait in the order of their arrival.
 *   RP-2 The words of a request reach only mtrace-query (--about), never a shell, and cannot name
 *        files or make it wait.
 *   RP-3 Each request gets an answer or an error unless mtrace-record is killed. A child process
 *        that is stopped is waited for.
 *   RP-4 Temporary files of an answer are removed when it is done, however its process ended.
 *   RP-5 mtrace-query waits only for us, and is ended after 30 s of CPU time, so no request blocks
 *        others for ever.
 *
 * Notes: The program may have fewer privileges than mtrace-record, hence RP-2. 30 s (RP-5) is ten
 * times what the most expensive report takes for ten million allocations (leaks over a part of the
 * run).
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_REPORT_SERVICE_H
#define MTRACE_RECORDER_REPORT_SERVICE_H

#include "lib/logfile/live_log.h"
#include "recorder/session/follower_process.h"
#include "recorder/session/image_service.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Paths of mtrace programs; NULL if not installed. */
struct report_service_programs {
    const char *import, *query;
};

struct report_service_job {
    const struct report_service_programs *programs;
    const char *until_marker; /* its time is that of the report; NULL: until_ns is */
    uint64_t until_ns;
    uint64_t marker_ticks;       /* of cut_request.h */
    uint64_t run_id;             /* of the marker's log, the only one that is reported; 0: all */
    const char *const *requests; /* words of mtrace-query without the database; ends with NULL */
    int fd;                      /* a file that receives the answers */
};

/* The child process that answers, and its folder. All zero: none. */
struct report_service_work {
    struct child_process child;
    struct report_folder folder;
};

/* Starts the child process, and the follower. Its exit status is 0, ERANGE when a rule of --fail-if
 * holds (the answer is complete), or the errno value of a failure; then the output is only an error
 * message. Returns an errno value if the process could not be started. */
int report_service_start(const struct report_service_job *job, struct follower_process *follower,
                         struct report_service_work *work);

/* Cleans up after the child process was reaped. */
void report_service_end(struct report_service_work *work);

/* Ends the child process if it runs, and waits for it. */
void report_service_stop(struct report_service_work *work);

enum {
    REPORT_SERVICE_CLIENTS = 256
};

/* Requests of a program. None: all zero, but answer_fd = -1. */
struct report_service {
    struct report_service_work work;
    struct follower_process *follower; /* that of the run */
    struct image_service images;
    pid_t pid;                           /* for images; 0: in another PID namespace */
    int clients[REPORT_SERVICE_CLIENTS]; /* connections; the first one has the turn */
    size_t n_clients;
    bool has_turn;    /* the first one has got its "go", */
    bool is_posted;   /* and has posted its request, which is in `text` */
    uint64_t turn_ns; /* when it got it */
    char text[LOG_REQUEST_PREFIX_BYTES + LOG_REQUEST_BYTES + 1];
    const char *words; /* in `text` */
    uint64_t marker_ticks;
    uint32_t number; /* of its marker */
    int answer_fd;   /* while the child process writes it; -1: none */
    bool has_ended;  /* the child process has ended (report_service_note_end) */
    int wait_status; /* valid if has_ended */
};

/* Takes over the connection of a program that requests a report. False: too many wait. */
bool report_service_take(struct report_service *service, int fd);

/* Gives the next connection its turn, or receives its request. True: it has posted a request that
 * the next step will begin to answer. */
bool report_service_is_asked(struct report_service *service, const struct live_log *live,
                             uint64_t now_ns);

/* A connection waits for its turn or is about to post: call report_service_is_asked soon. */
bool report_service_is_awaited(const struct report_service *service);

/* Handles a posted request or a finished answer; cheap if there is neither. */
void report_service_step(struct report_service *service, const struct live_log *live,
                         const char *log_path, const struct report_service_programs *programs);

/* The caller reaped this process, which may be the one that answers. */
void report_service_note_end(struct report_service *service, pid_t pid, int wait_status);

/* Ends the current answer; no more follow. Call again until it returns true. */
bool report_service_try_done(struct report_service *service);

/* Blocking variant of report_service_try_done. */
void report_service_done(struct report_service *service);

#endif
