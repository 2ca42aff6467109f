/* SPDX-License-Identifier: MIT */
#include "lib/base/timed_thread.h"

#include "lib/base/error.h"
#include "lib/base/monotonic.h"

#include <errno.h>
#include <time.h>

static void *run(void *context)
{
    struct timed_thread *thread = context;

    pthread_mutex_lock(&thread->mutex);
    while (!thread->is_ending) {
        int64_t next = thread->look(thread->context);

        if (next == 0)
            pthread_cond_wait(&thread->changed, &thread->mutex);
        else
            (void)timed_thread_wait(&thread->changed, &thread->mutex, next);
    }
    pthread_mutex_unlock(&thread->mutex);
    return NULL;
}

static void forget(struct timed_thread *thread)
{
    pthread_cond_destroy(&thread->changed);
    pthread_mutex_destroy(&thread->mutex);
}

int timed_thread_start(struct timed_thread *thread, timed_thread_look_fn *look, void *context,
                       struct error *err)
{
    int code;

    *thread = (struct timed_thread){.look = look, .context = context};
    pthread_mutex_init(&thread->mutex, NULL);
    timed_thread_condition(&thread->changed);
    code = pthread_create(&thread->id, NULL, run, thread);
    if (code == 0)
        return 0;
    forget(thread);
    return error_set_errno(err, code, "cannot start a thread");
}

void timed_thread_stop(struct timed_thread *thread)
{
    pthread_mutex_lock(&thread->mutex);
    thread->is_ending = true;
    pthread_cond_signal(&thread->changed);
    pthread_mutex_unlock(&thread->mutex);
    (void)pthread_join(thread->id, NULL);
    forget(thread);
}

int64_t timed_thread_now(void)
{
    return (int64_t)monotonic_now_ns();
}

void timed_thread_condition(pthread_cond_t *ret)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(ret, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool timed_thread_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until_ns)
{
    const struct timespec until = {.tv_sec = until_ns / 1000000000,
                                   .tv_nsec = until_ns % 1000000000};

    return pthread_cond_timedwait(condition, mutex, &until) != ETIMEDOUT;
}
