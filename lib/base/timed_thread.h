/* SPDX-License-Identifier: MIT */
/*
 * timed_thread: a thread that looks at what its owner's mutex guards, whenever that changed or a time has come.
 *
 * Model:   the thread holds the mutex while it looks, and gives it up while it waits. A look says when the next one is
 *          due; who changes what is looked at signals `changed`.
 * Invariants
 *   TT-1 A look follows each signal, and each instant that a look named.
 *   TT-2 Instants are CLOCK_MONOTONIC's: a clock that somebody sets hurries and delays nothing.
 * Threads: any may take the mutex and signal; one starts and stops.
 * Failure: only the start: no thread.
 */
#ifndef MTRACE_LIB_TIMED_THREAD_H
#define MTRACE_LIB_TIMED_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

/* With the mutex held. Returns the instant of the next look by timed_thread_now; 0: when something changed. */
typedef int64_t timed_thread_look_fn(void *context);

struct timed_thread {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Its own. */
    pthread_t id;
    timed_thread_look_fn *look;
    void *context;
    bool is_ending;
};

/* After a failure nothing is left to stop. */
int timed_thread_start(struct timed_thread *thread, timed_thread_look_fn *look, void *context,
                       struct error *err);

/* Nobody may hold or want the mutex any more. */
void timed_thread_stop(struct timed_thread *thread);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t timed_thread_now(void);

/* The same clock for threads and conditions of one's own: a condition made by timed_thread_condition is waited for until
 * an instant of timed_thread_now. false: that has come. */
void timed_thread_condition(pthread_cond_t *ret);
bool timed_thread_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until_ns);

#endif
