/* SPDX-License-Identifier: MIT */
/*
 * body_stream: the body of an answer, written by one thread while another one sends it.
 *
 * Model:   the writer prints to response_pipe_file(); what it prints waits in a ring of fixed size
 *          until the sender takes it. A writer that is ahead waits, so an answer of any length
 *          takes the memory of one ring.
 * Invariants
 *   BS-1 a byte that was written is taken once, in order, or the stream was abandoned.
 *   BS-2 an abandoned stream never blocks its writer: every write fails with EPIPE.
 *   BS-3 what ends without being whole lacks its last bytes, which close what was opened: where a
 *        protocol cannot tell that it was cut off, its reader can. Not so for what is sent as it comes.
 * Threads: one writer, one sender.
 * Failure: without memory response_pipe_new returns NULL.
 */
#ifndef MTRACE_SERVER_RESPONSE_PIPE_H
#define MTRACE_SERVER_RESPONSE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    RESPONSE_PIPE_HELD_BYTES = 4096, /* until the writer ends */
    RESPONSE_PIPE_BYTES = 256 * 1024 /* what is no longer than this is sent as a whole */
};

struct response_pipe;

struct response_pipe *response_pipe_new(void);
void response_pipe_free(struct response_pipe *stream);

/* ---- the writer ---- */

/* Owned by the stream; not to be closed. */
FILE *response_pipe_file(struct response_pipe *stream);

/* What is written from now on is sent as it comes, however little it is. */
void response_pipe_send_now(struct response_pipe *stream);

/* Nothing is written any more; is_whole: the writer did not fail. */
void response_pipe_end(struct response_pipe *stream, bool is_whole);

/* How long the writer has waited for the sender, in all and until now. Any thread. */
int64_t response_pipe_waited_ns(struct response_pipe *stream);

bool response_pipe_is_abandoned(const struct response_pipe *stream);

/* ---- the sender ---- */

enum response_pipe_state {
    RESPONSE_PIPE_WORKING, /* nothing was decided within the time */
    RESPONSE_PIPE_WHOLE,   /* it has ended, and the ring holds all of it */
    RESPONSE_PIPE_LONG,    /* it is longer than the ring, or is to be sent as it comes */
};

/* Waits at most wait_ms until it is known whether the answer is short. */
enum response_pipe_state response_pipe_wait(struct response_pipe *stream, int wait_ms);

/* Up to size bytes; waits for the first one. 0: that was all. */
size_t response_pipe_take(struct response_pipe *stream, char *ret_bytes, size_t size);

/* The client has gone: the writer shall stop. */
void response_pipe_abandon(struct response_pipe *stream);

#endif
