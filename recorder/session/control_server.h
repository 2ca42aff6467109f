/* SPDX-License-Identifier: MIT */
/*
 * control_server: serves the requests of 'mtrace-record --ctl' and of recorded programs.
 *
 * It listens on a socket (control_message.h), which it polls whenever the session wakes up; a new
 * connection wakes the session (SIGIO). It serves CONTROL_CLIENTS clients at a time; the kernel
 * queues more. Each client sends one request, which becomes control commands for the
 * processes concerned. The answer is sent when they are done, or after CONTROL_TIME_LIMIT_NS with
 * the text that they will be.
 *
 * Invariants
 *   CS-1 No client delays the session or another client: nothing here blocks, and a silent client
 *        is closed after 1 s.
 *   CS-2 Served are processes of the same user, root, and recorded processes; the last may only
 *        request reports.
 *
 * Threads: one. Errors: without a socket all functions may be called and do nothing.
 */
#ifndef MTRACE_RECORDER_CONTROL_SERVER_H
#define MTRACE_RECORDER_CONTROL_SERVER_H

#include "recorder/session/control_message.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

enum {
    CONTROL_CLIENTS = 8,
    CONTROL_QUEUE = 512, /* many threads of a program may request reports */
};

/* How a session handles requests. */
struct control_target {
    void *context;
    /* Begins a request and completes its fields. *ret_number is passed to is_done. False: *ret_text
     * says why not; an empty text means that the process is not recorded here. */
    bool (*begin)(void *context, struct control_request *request, uint32_t *ret_number,
                  char *ret_text, size_t n_bytes);
    /* True: ret_text says what was done, or why it failed. False: ret_text is the reason to give if
     * the time limit ends now. */
    bool (*is_done)(void *context, const struct control_request *request, uint32_t number,
                    char *ret_text, size_t n_bytes, bool *ret_has_failed);
    /* The process is recorded here. */
    bool (*is_recorded)(void *context, pid_t pid);
    /* Takes over the connection of a program that requests a report. False: its log is not
     * recorded here, or too many wait. */
    bool (*take)(void *context, const struct control_request *request, int fd);
};

struct control_client {
    int fd; /* -1: free slot */
    bool has_asked;
    bool is_operator; /* of the same user, or root */
    uint64_t since_ns;
    uint32_t number;
    struct control_request request;
};

struct control_server {
    int fd; /* -1: none */
    struct control_client clients[CONTROL_CLIENTS];
};

/* Fails if no client could connect, for example because another process has the name. */
int control_server_open(struct control_server *server, struct error *err);

void control_server_step(struct control_server *server, uint64_t now_ns,
                         const struct control_target *target);

/* Lets what arrives at the socket wake the sleeping session (SIGIO); else the next poll serves
 * it. */
void control_server_wake_by(int fd);

/* A client waits for an answer. */
bool control_server_is_busy(const struct control_server *server);

/* Tells waiting clients that the program has ended. */
void control_server_close(struct control_server *server);

#endif
