/* SPDX-License-Identifier: MIT */
/*
 * timed_thread: a thread that runs a function when data under a mutex has changed, or a time has
 * come.
 *
 * The thread holds the mutex while the function runs and releases it while it waits. The function
 * returns the time of its next call. A thread that changes the data signals `changed`.
 *
 * Invariants
 *   TT-1 A call follows each signal, and each time that the function returned.
 *   TT-2 Times are CLOCK_MONOTONIC: setting the wall clock has no effect.
 *
 * Any thread may take the mutex and signal; one starts and stops. Only the start can fail.
 */
#ifndef MTRACE_LIB_TIMED_THREAD_H
#define MTRACE_LIB_TIMED_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

/* Called with the mutex held. Returns the time of the next call, by timed_thread_now; 0: after the
 * next signal. */
typedef int64_t timed_thread_look_fn(void *context);

struct timed_thread {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Private. */
    pthread_t id;
    timed_thread_look_fn *look;
    void *context;
    bool is_ending;
};

/* After a failure there is nothing to stop. */
int timed_thread_start(struct timed_thread *thread, timed_thread_look_fn *look, void *context,
                       struct error *err);

/* No thread may hold the mutex or wait for it. */
void timed_thread_stop(struct timed_thread *thread);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t timed_thread_now(void);

/* The same clock for other threads and conditions: waits until a time of timed_thread_now for a
 * condition made by timed_thread_condition. False: the time has come. */
void timed_thread_condition(pthread_cond_t *ret);
bool timed_thread_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until_ns);

#endif
