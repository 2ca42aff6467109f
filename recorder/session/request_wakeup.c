/* SPDX-License-Identifier: MIT */
#include "recorder/session/request_wakeup.h"

#include "lib/abi/log_format.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 65536, /* in addition to the minimum for a thread; it only makes system calls */
    NAP_NS = 100000,
    LOOK_NS = 200000000, /* the only wakeup if the file was truncated */
};

struct request_wakeup {
    void *page;
    const uint32_t *word; /* n_posted (QB-2) */
    pthread_t thread;
    sem_t is_set;
    _Atomic uint32_t seen;
    atomic_bool is_ending, has_ended;
};

static bool is_ending(const struct request_wakeup *wakeup)
{
    return atomic_load_explicit(&wakeup->is_ending, memory_order_acquire);
}

/* True: the number has changed. False: the thread must end, or the page is gone. */
static bool wait_for_question(const struct request_wakeup *wakeup)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    uint32_t seen = atomic_load_explicit(&wakeup->seen, memory_order_relaxed);
    long code;

    do /* spurious wakeups are possible */
        code = syscall(SYS_futex, wakeup->word, FUTEX_WAIT, seen, &look, NULL, 0);
    while (!is_ending(wakeup) && (code == 0 || errno == EINTR || errno == ETIMEDOUT));
    return code != 0 && errno == EAGAIN && !is_ending(wakeup);
}

static void *ring(void *context)
{
    struct request_wakeup *wakeup = context;

    for (;;) {
        while (sem_wait(&wakeup->is_set) != 0)
            continue;
        if (is_ending(wakeup) || !wait_for_question(wakeup))
            break;
        (void)kill(getpid(), SIGCHLD);
    }
    atomic_store_explicit(&wakeup->has_ended, true, memory_order_release);
    return NULL;
}

/* The thread blocks all signals: any delivered to it would be lost. */
static bool begin(struct request_wakeup *wakeup)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    bool has_begun;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + STACK_BYTES);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    has_begun = pthread_create(&wakeup->thread, &attributes, ring, wakeup) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return has_begun;
}

static void give_back(struct request_wakeup *wakeup)
{
    munmap(wakeup->page, LOG_FILE_HEADER_BYTES);
    sem_destroy(&wakeup->is_set);
    free(wakeup);
}

struct request_wakeup *request_wakeup_new(int fd)
{
    struct request_wakeup *wakeup = calloc(1, sizeof(*wakeup));

    if (!wakeup)
        return NULL;
    wakeup->page = mmap(NULL, LOG_FILE_HEADER_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (wakeup->page == MAP_FAILED) {
        free(wakeup);
        return NULL;
    }
    wakeup->word = (const uint32_t *)(const void *)((const char *)wakeup->page + LOG_REQUEST_OFFSET
                                                    + offsetof(struct log_request, n_posted));
    (void)sem_init(&wakeup->is_set, 0, 0);
    if (begin(wakeup))
        return wakeup;
    give_back(wakeup);
    return NULL;
}

void request_wakeup_set(struct request_wakeup *wakeup, uint32_t seen)
{
    if (!wakeup)
        return;
    atomic_store_explicit(&wakeup->seen, seen, memory_order_relaxed);
    sem_post(&wakeup->is_set);
}

/* The thread may be about to wait and miss the first wakeup, or all if the page is gone; then its
 * timeout helps. */
void request_wakeup_done(struct request_wakeup *wakeup)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};

    if (!wakeup)
        return;
    atomic_store_explicit(&wakeup->is_ending, true, memory_order_release);
    sem_post(&wakeup->is_set);
    while (!atomic_load_explicit(&wakeup->has_ended, memory_order_acquire)) {
        (void)syscall(SYS_futex, wakeup->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        nanosleep(&nap, NULL);
    }
    (void)pthread_join(wakeup->thread, NULL);
    give_back(wakeup);
}
