/* SPDX-License-Identifier: MIT */
#include "server/http/response_pipe.h"

#include "lib/base/timed_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct response_pipe {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    FILE *file;
    size_t begin, used;       /* of the ring; under the mutex */
    int64_t waited_ns;        /* time that the writer waited for the sender, except since: */
    int64_t waiting_since_ns; /* 0: it does not wait */
    bool is_ended;
    bool is_sent_now;
    atomic_bool is_abandoned; /* read by the writer between rows, without the mutex */
    char ring[RESPONSE_PIPE_BYTES];
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies as much as fits into the ring in one piece. The mutex is held and the ring is not full. */
static size_t put_piece(struct response_pipe *stream, const char *bytes, size_t size)
{
    size_t at = (stream->begin + stream->used) % RESPONSE_PIPE_BYTES;
    size_t n = smaller(size, smaller(RESPONSE_PIPE_BYTES - stream->used, RESPONSE_PIPE_BYTES - at));

    memcpy(stream->ring + at, bytes, n);
    stream->used += n;
    return n;
}

/* The mutex is held. */
static void wait_for_sender(struct response_pipe *stream)
{
    int64_t began_ns = timed_thread_now();

    stream->waiting_since_ns = began_ns;
    pthread_cond_wait(&stream->changed, &stream->mutex);
    stream->waiting_since_ns = 0;
    stream->waited_ns += timed_thread_now() - began_ns;
}

int64_t response_pipe_waited_ns(struct response_pipe *stream)
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
    struct response_pipe *stream = cookie;
    size_t done = 0;

    pthread_mutex_lock(&stream->mutex);
    while (done < size && !response_pipe_is_abandoned(stream)) {
        if (stream->used == RESPONSE_PIPE_BYTES) {
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
    return 0; /* fopencookie reports a failure as 0 */
}

struct response_pipe *response_pipe_new(void)
{
    struct response_pipe *stream = malloc(sizeof(*stream));

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

void response_pipe_free(struct response_pipe *stream)
{
    if (!stream)
        return;
    response_pipe_abandon(stream);
    (void)fclose(stream->file);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    free(stream);
}

FILE *response_pipe_file(struct response_pipe *stream)
{
    return stream->file;
}

void response_pipe_send_now(struct response_pipe *stream)
{
    pthread_mutex_lock(&stream->mutex);
    stream->is_sent_now = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

void response_pipe_end(struct response_pipe *stream, bool is_whole)
{
    (void)fflush(stream->file);
    pthread_mutex_lock(&stream->mutex);
    stream->is_ended = true;
    if (!is_whole)
        stream->used = 0;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

bool response_pipe_is_abandoned(const struct response_pipe *stream)
{
    /* Only a flag: the mutex guards the data. */
    return atomic_load_explicit(&stream->is_abandoned, memory_order_relaxed);
}

static bool is_long(const struct response_pipe *stream)
{
    return stream->is_sent_now || stream->used == RESPONSE_PIPE_BYTES;
}

enum response_pipe_state response_pipe_wait(struct response_pipe *stream, int wait_ms)
{
    int64_t until = timed_thread_now() + (int64_t)wait_ms * 1000000;
    enum response_pipe_state state;

    pthread_mutex_lock(&stream->mutex);
    while (!stream->is_ended && !is_long(stream))
        if (!timed_thread_wait(&stream->changed, &stream->mutex, until))
            break;
    state = stream->is_ended  ? RESPONSE_PIPE_WHOLE
            : is_long(stream) ? RESPONSE_PIPE_LONG
                              : RESPONSE_PIPE_WORKING;
    pthread_mutex_unlock(&stream->mutex);
    return state;
}

/* The number of bytes that may be taken now (BS-3). The mutex is held. */
static size_t ready(const struct response_pipe *stream)
{
    size_t held = stream->is_ended || stream->is_sent_now ? 0 : RESPONSE_PIPE_HELD_BYTES;

    return stream->used > held ? stream->used - held : 0;
}

size_t response_pipe_take(struct response_pipe *stream, char *ret_bytes, size_t size)
{
    size_t done = 0;
    size_t n;

    pthread_mutex_lock(&stream->mutex);
    while (ready(stream) == 0 && !stream->is_ended)
        pthread_cond_wait(&stream->changed, &stream->mutex);
    while ((n = smaller(size - done, ready(stream))) > 0) {
        n = smaller(n, RESPONSE_PIPE_BYTES - stream->begin);

        memcpy(ret_bytes + done, stream->ring + stream->begin, n);
        stream->begin = (stream->begin + n) % RESPONSE_PIPE_BYTES;
        stream->used -= n;
        done += n;
    }
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    return done;
}

void response_pipe_abandon(struct response_pipe *stream)
{
    pthread_mutex_lock(&stream->mutex);
    atomic_store_explicit(&stream->is_abandoned, true, memory_order_relaxed);
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}
