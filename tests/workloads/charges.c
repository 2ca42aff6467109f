/* SPDX-License-Identifier: MIT */
/*
 * charges: threads in groups that share tags allocate blocks, move them to other groups and
 * threads, resize and free them, in phases that nest and overlap; a pool gives out parts of some.
 * argv[1] "fork": a child continues with its own blocks.
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

enum {
    N_THREADS = 4,
    N_GROUPS = 8,
    N_PLACES = 64,
    N_STEPS = 1200
};

static struct {
    void *block;
    unsigned n;
} places[N_PLACES];

/* Threads run one after another, so that each run does the same. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n;
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static uint32_t groups[N_GROUPS];

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % below;
}

static void make_groups(void)
{
    static const char *const kinds[] = {"read", "write", "read"};
    static const char *const tenants[] = {"acme", "other"};

    groups[0] = MTRACE_GROUP_ROOT;
    for (unsigned i = 1; i < N_GROUPS; i++) {
        struct mtrace_tag tags[] = {{"kind", kinds[i % 3]}, {"tenant", tenants[i % 2]}};
        groups[i] = mtrace_group_register(i % 4 ? "request" : "cache", tags, i % 5 ? i % 3 : 0);
    }
}

static void change_place(uint64_t *state)
{
    unsigned at = draw(state, N_PLACES);
    unsigned what = draw(state, 4);

    if (places[at].block == NULL) {
        places[at].n = draw(state, 20);
        places[at].block = own_malloc(places[at].n);
    } else if (what == 0) {
        own_free(places[at].block, places[at].n);
        places[at].block = NULL;
    } else if (what == 1) {
        own_count_free(OWN_BYTES(places[at].n));
        places[at].n = draw(state, 20);
        places[at].block = keep(realloc(places[at].block, OWN_BYTES(places[at].n)));
        own_count_alloc(OWN_BYTES(places[at].n));
    } else {
        mtrace_move(places[at].block, groups[draw(state, N_GROUPS)]);
    }
}

static void take_slot(unsigned thread)
{
    pthread_mutex_lock(&turns.lock);
    while (turns.n % N_THREADS != thread)
        pthread_cond_wait(&turns.changed, &turns.lock);
}

static void pass_turn(void)
{
    turns.n++;
    pthread_cond_broadcast(&turns.changed);
    pthread_mutex_unlock(&turns.lock);
}

static void *work(void *argument)
{
    uint64_t state = (uint64_t)(uintptr_t)argument;
    struct mtrace_scope phase = mtrace_phase_begin("start");

    for (unsigned i = 0; i < N_STEPS; i++) {
        struct mtrace_scope scope = mtrace_enter(groups[draw(&state, N_GROUPS)]);

        take_slot((unsigned)((uintptr_t)argument % N_THREADS));
        change_place(&state);
        pass_turn();
        mtrace_exit(scope);
        if (i % 200 == 199) {
            struct mtrace_scope next = mtrace_phase_begin(i % 400 == 399 ? "even" : "odd");
            mtrace_phase_end(phase);
            phase = next;
        }
    }
    return NULL; /* the last one ends with the process */
}

static void use_pool(void)
{
    char *arena = own_malloc(100);
    uint32_t pool = mtrace_pool_create("arena");
    struct mtrace_scope phase = mtrace_phase_begin("odd");
    struct mtrace_scope scope = mtrace_enter(groups[1]);

    for (unsigned i = 0; i < 50; i++) {
        mtrace_pool_alloc(pool, arena + (size_t)i * 1024, 777);
        if (i == 20)
            mtrace_exit(scope);
        if (i == 30)
            mtrace_phase_end(phase);
    }
    for (unsigned i = 0; i < 25; i++)
        mtrace_pool_free(pool, arena + (size_t)i * 1024);
}

static void run(unsigned seed)
{
    pthread_t threads[N_THREADS];

    for (uintptr_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(seed + i));
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    make_groups();
    use_pool();
    run(100);
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        pid_t child = fork();

        if (child == 0) {
            memset(places, 0, sizeof(places));
            run(200);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    expect("allocated", own.allocated);
    expect("allocated_bytes", own.allocated_bytes);
    return 0;
}
