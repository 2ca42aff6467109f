/* SPDX-License-Identifier: MIT */
/*
 * control_server: what mtrace-record --ctl asks of this mtrace-record.
 *
 * Model:   a listening socket (control_message.h), looked at whenever the session wakes up, which who comes makes it do (SIGIO, which the
 *          session waits for). At most CONTROL_CLIENTS are served
 *          at once; the kernel keeps some more waiting. Each sends one request, which becomes orders of the processes that it is about, and is
 *          answered when those are obeyed, or after CONTROL_TIME_LIMIT_NS by saying that they will be.
 * Invariants
 *   CS-1 No client holds up the session or another client: nothing here blocks, and who says nothing is let go after a second.
 *   CS-2 Only the same user, and root, gets further than the connection.
 * Threads: one. Failure: without a socket there is no control: everything may be called, and does nothing.
 */
#ifndef MTRACE_RECORDER_CONTROL_SERVER_H
#define MTRACE_RECORDER_CONTROL_SERVER_H

#include "recorder/session/control_message.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

enum {
    CONTROL_CLIENTS = 8
};

/* What a session does for a client. */
struct control_target {
    void *context;
    /* Takes what is asked, and completes it; false: *ret_text says why not, and nothing that it is not our process. *ret_number is
     * handed on. */
    bool (*begin)(void *context, struct control_request *request, uint32_t *ret_number,
                  char *ret_text, size_t n_bytes);
    /* ret_text: what was done, or why it could not be; if false: why it would have failed, were it the last call. */
    bool (*is_done)(void *context, const struct control_request *request, uint32_t number,
                    char *ret_text, size_t n_bytes, bool *ret_has_failed);
};

struct control_client {
    int fd; /* -1: nobody */
    bool has_asked;
    uint64_t since_ns;
    uint32_t number;
    struct control_request request;
};

struct control_server {
    int fd; /* -1: none */
    struct control_client clients[CONTROL_CLIENTS];
};

/* An error says why nobody can ask anything, as where another process has the name. */
int control_server_open(struct control_server *server, struct error *err);

void control_server_step(struct control_server *server, uint64_t now_ns,
                         const struct control_target *target);

/* Somebody waits for an answer. */
bool control_server_is_busy(const struct control_server *server);

/* Who still waits is told that the program has ended. */
void control_server_close(struct control_server *server);

#endif
