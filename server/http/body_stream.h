/* SPDX-License-Identifier: MIT */
/*
 * body_stream: the body of an answer, written by one thread while another one sends it.
 *
 * Model:   the writer prints to body_stream_file(); what it prints waits in a ring of fixed size
 *          until the sender takes it. A writer that is ahead waits, so an answer of any length
 *          takes the memory of one ring.
 * Invariants
 *   BS-1 a byte that was written is taken once, in order, or the stream was abandoned.
 *   BS-2 an abandoned stream never blocks its writer: every write fails with EPIPE.
 *   BS-3 what ends without being whole lacks its last bytes, which close what was opened: where a
 *        protocol cannot tell that it was cut off, its reader can. Not so for what is sent as it comes.
 * Threads: one writer, one sender.
 * Failure: without memory body_stream_new returns NULL.
 */
#ifndef MTRACE_SERVER_BODY_STREAM_H
#define MTRACE_SERVER_BODY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    BODY_STREAM_HELD_BYTES = 4096, /* until the writer ends */
    BODY_STREAM_BYTES = 256 * 1024 /* what is no longer than this is sent as a whole */
};

struct body_stream;

struct body_stream *body_stream_new(void);
void body_stream_free(struct body_stream *stream);

/* ---- the writer ---- */

/* Owned by the stream; not to be closed. */
FILE *body_stream_file(struct body_stream *stream);

/* What is written from now on is sent as it comes, however little it is. */
void body_stream_send_now(struct body_stream *stream);

/* Nothing is written any more; is_whole: the writer did not fail. */
void body_stream_end(struct body_stream *stream, bool is_whole);

/* How long the writer has waited for the sender, in all and until now. Any thread. */
int64_t body_stream_waited_ns(struct body_stream *stream);

bool body_stream_is_abandoned(const struct body_stream *stream);

/* ---- the sender ---- */

enum body_stream_state {
    BODY_STREAM_WORKING, /* nothing was decided within the time */
    BODY_STREAM_WHOLE,   /* it has ended, and the ring holds all of it */
    BODY_STREAM_LONG,    /* it is longer than the ring, or is to be sent as it comes */
};

/* Waits at most wait_ms until it is known whether the answer is short. */
enum body_stream_state body_stream_wait(struct body_stream *stream, int wait_ms);

/* Up to size bytes; waits for the first one. 0: that was all. */
size_t body_stream_take(struct body_stream *stream, char *ret_bytes, size_t size);

/* The client has gone: the writer shall stop. */
void body_stream_abandon(struct body_stream *stream);

#endif
