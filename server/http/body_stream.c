/* SPDX-License-Identifier: MIT */
#include "server/http/body_stream.h"

#include "lib/base/timed_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct body_stream {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    FILE *file;
    size_t begin, used;       /* of the ring; under the mutex */
    int64_t waited_ns;        /* of the writer, for the sender; but since the instant: */
    int64_t waiting_since_ns; /* 0: it does not wait */
    bool is_ended;
    bool is_sent_now;
    atomic_bool is_abandoned; /* read by the writer between rows, without the mutex */
    char ring[BODY_STREAM_BYTES];
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What fits into the ring in one piece; the mutex is held, and there is room. */
static size_t put_piece(struct body_stream *stream, const char *bytes, size_t size)
{
    size_t at = (stream->begin + stream->used) % BODY_STREAM_BYTES;
    size_t n = smaller(size, smaller(BODY_STREAM_BYTES - stream->used, BODY_STREAM_BYTES - at));

    memcpy(stream->ring + at, bytes, n);
    stream->used += n;
    return n;
}

/* The mutex is held. */
static void wait_for_sender(struct body_stream *stream)
{
    int64_t began_ns = timed_thread_now();

    stream->waiting_since_ns = began_ns;
    pthread_cond_wait(&stream->changed, &stream->mutex);
    stream->waiting_since_ns = 0;
    stream->waited_ns += timed_thread_now() - began_ns;
}

int64_t body_stream_waited_ns(struct body_stream *stream)
{
    int64_t ns;

    pthread_mutex_lock(&stream->mutex);
    ns = stream->waited_ns
         + (stream->waiting_since_ns ? timed_thread_now() - stream->waiting_since_ns : 0);
    pthread_mutex_unlock(&stream->mutex);
    return ns;
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t size)
{
    struct body_stream *stream = cookie;
    size_t done = 0;

    pthread_mutex_lock(&stream->mutex);
    while (done < size && !body_stream_is_abandoned(stream)) {
        if (stream->used == BODY_STREAM_BYTES) {
            wait_for_sender(stream);
            continue;
        }
        done += put_piece(stream, bytes + done, size - done);
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->mutex);
    if (done == size)
        return (ssize_t)size;
    errno = EPIPE;
    return 0; /* as fopencookie wants a failure to be told */
}

struct body_stream *body_stream_new(void)
{
    struct body_stream *stream = malloc(sizeof(*stream));

    if (!stream)
        return NULL;
    stream->begin = stream->used = 0;
    stream->waited_ns = stream->waiting_since_ns = 0;
    stream->is_ended = stream->is_sent_now = false;
    atomic_init(&stream->is_abandoned, false);
    stream->file = fopencookie(stream, "w", (cookie_io_functions_t){.write = write_cookie});
    if (!stream->file) {
        free(stream);
        return NULL;
    }
    pthread_mutex_init(&stream->mutex, NULL);
    timed_thread_condition(&stream->changed);
    return stream;
}

void body_stream_free(struct body_stream *stream)
{
    if (!stream)
        return;
    body_stream_abandon(stream);
    (void)fclose(stream->file);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    free(stream);
}

FILE *body_stream_file(struct body_stream *stream)
{
    return stream->file;
}

void body_stream_send_now(struct body_stream *stream)
{
    pthread_mutex_lock(&stream->mutex);
    stream->is_sent_now = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

void body_stream_end(struct body_stream *stream, bool is_whole)
{
    (void)fflush(stream->file);
    pthread_mutex_lock(&stream->mutex);
    stream->is_ended = true;
    if (!is_whole)
        stream->used = 0;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

bool body_stream_is_abandoned(const struct body_stream *stream)
{
    /* Only a flag: what it guards is under the mutex. */
    return atomic_load_explicit(&stream->is_abandoned, memory_order_relaxed);
}

static bool is_long(const struct body_stream *stream)
{
    return stream->is_sent_now || stream->used == BODY_STREAM_BYTES;
}

enum body_stream_state body_stream_wait(struct body_stream *stream, int wait_ms)
{
    int64_t until = timed_thread_now() + (int64_t)wait_ms * 1000000;
    enum body_stream_state state;

    pthread_mutex_lock(&stream->mutex);
    while (!stream->is_ended && !is_long(stream))
        if (!timed_thread_wait(&stream->changed, &stream->mutex, until))
            break;
    state = stream->is_ended  ? BODY_STREAM_WHOLE
            : is_long(stream) ? BODY_STREAM_LONG
                              : BODY_STREAM_WORKING;
    pthread_mutex_unlock(&stream->mutex);
    return state;
}

/* What may be taken now; the mutex is held (BS-3). */
static size_t ready(const struct body_stream *stream)
{
    size_t held = stream->is_ended || stream->is_sent_now ? 0 : BODY_STREAM_HELD_BYTES;

    return stream->used > held ? stream->used - held : 0;
}

size_t body_stream_take(struct body_stream *stream, char *ret_bytes, size_t size)
{
    size_t done = 0;
    size_t n;

    pthread_mutex_lock(&stream->mutex);
    while (ready(stream) == 0 && !stream->is_ended)
        pthread_cond_wait(&stream->changed, &stream->mutex);
    while ((n = smaller(size - done, ready(stream))) > 0) {
        n = smaller(n, BODY_STREAM_BYTES - stream->begin);

        memcpy(ret_bytes + done, stream->ring + stream->begin, n);
        stream->begin = (stream->begin + n) % BODY_STREAM_BYTES;
        stream->used -= n;
        done += n;
    }
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    return done;
}

void body_stream_abandon(struct body_stream *stream)
{
    pthread_mutex_lock(&stream->mutex);
    atomic_store_explicit(&stream->is_abandoned, true, memory_order_relaxed);
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}
