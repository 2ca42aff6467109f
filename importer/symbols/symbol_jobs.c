/* SPDX-License-Identifier: MIT */
#include "importer/symbols/symbol_jobs.h"

#include "importer/symbols/symbol_cache.h"
#include "symbolizer/debug_index.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 64,
    PROGRESS_NS = 200 * 1000 * 1000,
    STOPPED = 1 /* result of on_position when the run is stopped */
};

struct pool {
    const struct symbols_options *options;
    struct symbolizer_options symbolizer; /* with the shared index */
    struct symbol_job **order;            /* largest first */
    size_t n_jobs;
    atomic_size_t next;
    atomic_uint_fast64_t n_done; /* positions, for the progress only */
    atomic_bool is_stopped;
    pthread_mutex_t lock;
    pthread_cond_t worker_ended;
    unsigned n_running; /* under lock */
};

/* A running job and its positions that are not cached. */
struct lookup {
    struct symbol_job *job;
    struct pool *pool;
    struct symbol_cache_position *cached;
    size_t n_cached;
    struct symbolizer_position *missing;
    uint32_t *index_of_missing; /* in the job's positions */
    size_t n_missing;
};

static int no_memory(struct symbol_job *job)
{
    return error_set(&job->err, ERROR_NOMEM, "no memory for the symbols of '%s'", job->path);
}

static int keep_levels(void *context, size_t position, const struct symbolizer_level *levels,
                       size_t n_levels)
{
    struct lookup *lookup = context;
    struct symbol_job *job = lookup->job;

    if (atomic_load_explicit(&lookup->pool->is_stopped, memory_order_relaxed))
        return STOPPED;
    if (!symbol_store_add(&job->store, levels, n_levels,
                          &job->spans[lookup->index_of_missing[position]]))
        return no_memory(job);
    atomic_fetch_add_explicit(&lookup->pool->n_done, 1, memory_order_relaxed);
    return 0;
}

/* Compares in the order of positions. */
static int compare_positions(const struct symbolizer_position *position,
                             const struct symbol_cache_position *cached)
{
    if (position->offset != cached->offset)
        return position->offset < cached->offset ? -1 : 1;
    return (int)position->is_exact - (int)(cached->is_exact != 0);
}

/* Both lists are sorted. */
static void take_cached(struct lookup *lookup)
{
    struct symbol_job *job = lookup->job;
    size_t next = 0;

    for (size_t i = 0; i < job->n_positions; i++) {
        const struct symbolizer_position *position = &job->positions[i];
        while (next < lookup->n_cached && compare_positions(position, &lookup->cached[next]) > 0)
            next++;
        if (next < lookup->n_cached && compare_positions(position, &lookup->cached[next]) == 0) {
            job->spans[i] = lookup->cached[next].span;
        } else {
            lookup->missing[lookup->n_missing] = *position;
            lookup->index_of_missing[lookup->n_missing++] = (uint32_t)i;
        }
    }
    atomic_fetch_add_explicit(&lookup->pool->n_done, job->n_positions - lookup->n_missing,
                              memory_order_relaxed);
}

static struct symbol_cache_position as_cached(const struct symbol_job *job, uint32_t position)
{
    return (struct symbol_cache_position){.offset = job->positions[position].offset,
                                          .span = job->spans[position],
                                          .is_exact = job->positions[position].is_exact};
}

/* Saves cached and new positions in one sorted list, without duplicates: frames may share a
 * position. */
static void save(struct lookup *lookup, const char *identity)
{
    struct symbol_job *job = lookup->job;
    size_t n_most = lookup->n_cached + lookup->n_missing;
    struct symbol_cache_position *all = malloc(n_most * sizeof(*all));
    size_t n_all = 0;
    size_t next = 0;

    for (size_t i = 0; all && i < lookup->n_missing; i++) {
        const struct symbolizer_position *missing = &lookup->missing[i];
        while (next < lookup->n_cached && compare_positions(missing, &lookup->cached[next]) > 0)
            all[n_all++] = lookup->cached[next++];
        if (n_all == 0 || compare_positions(missing, &all[n_all - 1]) != 0)
            all[n_all++] = as_cached(job, lookup->index_of_missing[i]);
    }
    while (all && next < lookup->n_cached)
        all[n_all++] = lookup->cached[next++];
    if (all)
        symbol_cache_save(lookup->pool->options->cache_dir, job->build_id, identity, &job->store,
                          all, n_all);
    free(all);
}

static int look_up(struct lookup *lookup, struct symbolizer *symbolizer)
{
    struct symbol_job *job = lookup->job;
    const char *dir = lookup->pool->options->cache_dir;
    const char *identity = dir && job->build_id ? symbolizer_identity(symbolizer) : NULL;
    int status = 0;

    if (identity)
        lookup->cached =
            symbol_cache_load(dir, job->build_id, identity, &job->store, &lookup->n_cached);
    take_cached(lookup);
    if (lookup->n_missing)
        status = symbolizer_run(symbolizer, lookup->missing, lookup->n_missing, keep_levels, lookup,
                                &job->err);
    /* Checks the identity again: the run may have found that its answers are incomplete. */
    if (status == 0 && lookup->n_missing && identity && symbolizer_identity(symbolizer))
        save(lookup, identity);
    return status;
}

static int keep_text(struct symbol_job *job, const char *text, char **ret_copy)
{
    *ret_copy = text ? strdup(text) : NULL;
    return text && !*ret_copy ? no_memory(job) : 0;
}

static int run_symbolizer(struct lookup *lookup)
{
    struct symbol_job *job = lookup->job;
    struct symbolizer *symbolizer = NULL;
    struct symbolizer_object object = {.path = job->path,
                                       .build_id = job->build_id,
                                       .architecture = job->architecture,
                                       .other_paths = (const char *const *)job->other_paths,
                                       .kept = &job->kept};
    int status = symbolizer_open(&lookup->pool->symbolizer, &object, &symbolizer, &job->err);

    if (status == 0)
        status = look_up(lookup, symbolizer);
    if (status == 0)
        status = keep_text(job, symbolizer_debug_path(symbolizer), &job->debug_path);
    if (status == 0)
        status = keep_text(job, symbolizer_note(symbolizer), &job->note);
    symbolizer_close(symbolizer);
    return status;
}

static int run_job(struct pool *pool, struct symbol_job *job)
{
    struct lookup lookup = {.job = job,
                            .pool = pool,
                            .missing = calloc(job->n_positions, sizeof(*lookup.missing)),
                            .index_of_missing =
                                calloc(job->n_positions, sizeof(*lookup.index_of_missing))};
    int status;

    job->spans = calloc(job->n_positions, sizeof(*job->spans));
    status = job->spans && lookup.missing && lookup.index_of_missing ? run_symbolizer(&lookup)
                                                                     : no_memory(job);
    free(lookup.cached);
    free(lookup.missing);
    free(lookup.index_of_missing);
    return status;
}

static void *work(void *context)
{
    struct pool *pool = context;

    while (!atomic_load_explicit(&pool->is_stopped, memory_order_relaxed)) {
        size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->n_jobs)
            break;
        if (run_job(pool, pool->order[i]) != 0)
            atomic_store_explicit(&pool->is_stopped, true, memory_order_relaxed);
    }
    pthread_mutex_lock(&pool->lock);
    pool->n_running--;
    pthread_cond_signal(&pool->worker_ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static struct timespec in_a_while(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += PROGRESS_NS;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static int report_progress(struct pool *pool, uint64_t n_frames, struct error *err)
{
    uint64_t n_done = atomic_load_explicit(&pool->n_done, memory_order_relaxed);
    struct progress *progress = pool->options->progress;
    int status = progress ? progress_update(progress, n_done, n_frames, err) : 0;

    if (status)
        atomic_store_explicit(&pool->is_stopped, true, memory_order_relaxed);
    return status;
}

/* Shows progress until the last worker has ended. */
static int watch(struct pool *pool, uint64_t n_frames, struct error *err)
{
    int status = report_progress(pool, n_frames, err);

    pthread_mutex_lock(&pool->lock);
    while (pool->n_running > 0) {
        struct timespec deadline = in_a_while();
        pthread_cond_timedwait(&pool->worker_ended, &pool->lock, &deadline);
        if (status == 0)
            status = report_progress(pool, n_frames, err);
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static int compare_size(const void *a, const void *b)
{
    const struct symbol_job *x = *(struct symbol_job *const *)a;
    const struct symbol_job *y = *(struct symbol_job *const *)b;

    return (x->n_positions < y->n_positions) - (x->n_positions > y->n_positions);
}

static unsigned count_threads(const struct symbols_options *options, size_t n_jobs)
{
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n_threads = options->n_threads;

    if (n_threads == 0)
        n_threads = n_processors > 0 ? (size_t)n_processors : 1;
    if (n_threads > n_jobs)
        n_threads = n_jobs;
    return (unsigned)(n_threads > MAX_THREADS ? MAX_THREADS : n_threads);
}

/* Fewer threads than wanted are fine; without any, the caller's thread does the work. */
static int run_pool(struct pool *pool, uint64_t n_frames, struct error *err)
{
    pthread_t threads[MAX_THREADS];
    unsigned n_wanted = count_threads(pool->options, pool->n_jobs);
    unsigned n_threads = 0;
    int status;

    pool->n_running = n_wanted;
    while (n_threads < n_wanted && pthread_create(&threads[n_threads], NULL, work, pool) == 0)
        n_threads++;
    pthread_mutex_lock(&pool->lock);
    pool->n_running -= n_wanted - n_threads;
    pthread_mutex_unlock(&pool->lock);
    if (n_threads == 0) {
        pool->n_running = 1;
        work(pool);
    }
    status = watch(pool, n_frames, err);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    return status;
}

int symbol_jobs_run(struct symbol_job *jobs, size_t n_jobs, const struct symbols_options *options,
                    struct error *err)
{
    struct pool pool = {.options = options,
                        .symbolizer = options->symbolizer,
                        .order = malloc(n_jobs * sizeof(*pool.order)),
                        .n_jobs = n_jobs,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .worker_ended = PTHREAD_COND_INITIALIZER};
    uint64_t n_frames = 0;
    int status;

    if (n_jobs && !pool.order)
        return error_set(err, ERROR_NOMEM, "no memory for %zu objects", n_jobs);
    for (size_t i = 0; i < n_jobs; i++) {
        pool.order[i] = &jobs[i];
        n_frames += jobs[i].n_positions;
    }
    if (n_jobs)
        qsort(pool.order, n_jobs, sizeof(*pool.order), compare_size);
    pool.symbolizer.index = debug_index_new(options->symbolizer.debug_dirs);
    status = run_pool(&pool, n_frames, err);
    debug_index_free(pool.symbolizer.index);
    if (options->cache_dir)
        symbol_cache_prune(options->cache_dir, SYMBOL_CACHE_MAX_BYTES, SYMBOL_CACHE_MAX_AGE_S,
                           time(NULL));
    free(pool.order);
    for (size_t i = 0; status == 0 && i < n_jobs; i++) {
        if (jobs[i].err.code && err)
            *err = jobs[i].err;
        status = jobs[i].err.code;
    }
    return status;
}

void symbol_job_done(struct symbol_job *job)
{
    for (size_t i = 0; job->other_paths && job->other_paths[i]; i++)
        free(job->other_paths[i]);
    free(job->other_paths);
    kept_file_done(&job->kept);
    free(job->path);
    free(job->build_id);
    free(job->architecture);
    free(job->positions);
    free(job->spans);
    free(job->debug_path);
    free(job->note);
    symbol_store_done(&job->store);
    memset(job, 0, sizeof(*job));
}
