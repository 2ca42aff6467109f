/* SPDX-License-Identifier: MIT */
/*
 * pairs DEPTH THREADS PAIRS: malloc/free pairs at the bottom of a stack of DEPTH frames.
 *
 * Each thread keeps about 4000 live slots and replaces one per pair, so that frees hit older blocks
 * of all sizes. The pairs run in batches of 64 from the same innermost frame, then the innermost
 * frames are left and entered again: stacks that share their outer part, as real ones do. Prints
 * the nanoseconds per pair and thread of the loop alone, without start and end of the process; on
 * standard error the processor's time and page faults of each thread, which other load changes
 * less.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
    N_SLOTS = 4000,
    BATCH = 64,
    TURNS = 4
};

struct worker {
    uint64_t n_pairs;
    uint64_t state;
    double seconds;
    struct rusage used; /* by the thread in the loop */
    int depth;
    void *slots[N_SLOTS];
};

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t next_random(struct worker *worker)
{
    worker->state ^= worker->state << 13;
    worker->state ^= worker->state >> 7;
    worker->state ^= worker->state << 17;
    return worker->state;
}

static __attribute__((noinline)) void replace_some(struct worker *worker)
{
    for (int i = 0; i < BATCH; i++) {
        uint64_t random = next_random(worker);
        void **slot = &worker->slots[random % N_SLOTS];

        free(*slot);
        *slot = malloc(16 + (random >> 32) % 256);
    }
}

static __attribute__((noinline)) int last_frames(struct worker *worker, int left)
{
    if (left > 0)
        return last_frames(worker, left - 1) + 1;
    replace_some(worker);
    return 0;
}

static __attribute__((noinline)) int descend(struct worker *worker, int left)
{
    int sum = 0;

    if (left > 0)
        return descend(worker, left - 1) + 1;
    for (uint64_t done = 0; done < worker->n_pairs; done += BATCH)
        sum += last_frames(worker, worker->depth < TURNS ? 0 : (int)(done / BATCH % TURNS));
    return sum;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    double start = now_seconds();

    /* the frames that are always there: start of the thread or main, work, replace_some, and
     * last_frames */
    descend(worker, worker->depth > 2 * TURNS ? worker->depth - 2 * TURNS : 0);
    worker->seconds = now_seconds() - start;
    getrusage(RUSAGE_THREAD, &worker->used);
    for (int i = 0; i < N_SLOTS; i++)
        free(worker->slots[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 20;
    int n_threads = argc > 2 ? atoi(argv[2]) : 1;
    uint64_t n_pairs = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
    struct worker *workers = calloc((size_t)n_threads, sizeof(*workers));
    pthread_t *threads = calloc((size_t)n_threads, sizeof(*threads));
    pthread_attr_t attributes;
    double longest = 0;

    if (!workers || !threads)
        return 1;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64u << 20);
    for (int i = 0; i < n_threads; i++) {
        workers[i] = (struct worker){
            .n_pairs = n_pairs, .state = 88172645463325252u + (uint64_t)i, .depth = depth};
        pthread_create(&threads[i], &attributes, work, &workers[i]);
    }
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        if (workers[i].seconds > longest)
            longest = workers[i].seconds;
    }
    printf("%.2f\n", longest * 1e9 / (double)n_pairs);
    for (int i = 0; i < n_threads; i++)
        fprintf(stderr, "thread %d: user %.2f, system %.2f ns per pair; %ld page faults\n", i,
                seconds_of(&workers[i].used.ru_utime) * 1e9 / (double)n_pairs,
                seconds_of(&workers[i].used.ru_stime) * 1e9 / (double)n_pairs,
                workers[i].used.ru_minflt);
    free(threads);
    free(workers);
    return 0;
}
