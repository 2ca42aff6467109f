/* SPDX-License-Identifier: MIT */
/*
 * response_pipe: the body of a response, written by one thread and sent by another.
 *
 * The writer prints to response_pipe_file(). The bytes wait in a ring of fixed size until the
 * sender takes them. A writer waits while the ring is full, so memory does not depend on the
 * length.
 *
 * Invariants
 *   BS-1 Each written byte is taken once and in order, unless the pipe was abandoned.
 *   BS-2 An abandoned pipe never blocks its writer: every write fails with EPIPE.
 *   BS-3 A failed response lacks its last bytes, which close its brackets: a reader sees that it
 *        was cut off even if the protocol does not tell. This does not hold after
 *        response_pipe_send_now.
 *
 * Threads: one writer, one sender.
 */
#ifndef MTRACE_SERVER_RESPONSE_PIPE_H
#define MTRACE_SERVER_RESPONSE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    RESPONSE_PIPE_HELD_BYTES = 4096, /* held back until the writer ends */
    RESPONSE_PIPE_BYTES = 256 * 1024 /* a response of at most this size is sent as a whole */
};

struct response_pipe;

struct response_pipe *response_pipe_new(void);
void response_pipe_free(struct response_pipe *stream);

/* ---- the writer ---- */

/* Owned by the pipe; do not close it. */
FILE *response_pipe_file(struct response_pipe *stream);

/* From now on each write is sent immediately, however small it is. */
void response_pipe_send_now(struct response_pipe *stream);

/* Ends the response. is_whole: the writer did not fail. */
void response_pipe_end(struct response_pipe *stream, bool is_whole);

/* The total time that the writer has waited for the sender, including now. Any thread. */
int64_t response_pipe_waited_ns(struct response_pipe *stream);

bool response_pipe_is_abandoned(const struct response_pipe *stream);

/* ---- the sender ---- */

enum response_pipe_state {
    RESPONSE_PIPE_WORKING, /* still unknown after the time */
    RESPONSE_PIPE_WHOLE,   /* ended; the ring holds all of it */
    RESPONSE_PIPE_LONG,    /* longer than the ring, or sent immediately */
};

/* Waits at most wait_ms until it is known whether the response is short. */
enum response_pipe_state response_pipe_wait(struct response_pipe *stream, int wait_ms);

/* Takes up to size bytes; waits for the first one. 0: the end. */
size_t response_pipe_take(struct response_pipe *stream, char *ret_bytes, size_t size);

/* The client disconnected: stops the writer. */
void response_pipe_abandon(struct response_pipe *stream);

#endif
