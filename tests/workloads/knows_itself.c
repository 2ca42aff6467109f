/* SPDX-License-Identifier: MIT */
/*
 * knows_itself FOLDER: counts the blocks of each of its threads, and which thread freed them. Then
 * it requests reports, each into a file of the folder, while nothing changes. For
 * tests/e2e/live_checklist.py.
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

enum {
    N_GONE = 1100, /* exited threads; more than alloc-track can hold */
    N_STAY = 3,
    N_THREADS = N_GONE + N_STAY,
};

static struct {
    int tid;
    unsigned long long allocated, freed_own, freed_foreign;
    int foreign; /* whose blocks */
} g_books[N_THREADS];

static struct {
    void *block;
    unsigned n, owner;
} g_left; /* by the thread before */

static pthread_barrier_t g_all_there, g_asked;

/* The call site of lasting blocks; never inlined. */
__attribute__((noinline)) static void *keep_for_life(unsigned n)
{
    return own_malloc(n);
}

/* A function that only passes memory on. */
__attribute__((noinline)) static void *pass_on(unsigned n)
{
    return own_malloc(n);
}

__attribute__((noinline)) static void *use_passed(unsigned n)
{
    return keep(pass_on(n));
}

static void free_left(unsigned self)
{
    if (!g_left.block)
        return;
    own_free(g_left.block, g_left.n);
    g_books[self].freed_foreign += OWN_BYTES(g_left.n);
    g_books[self].foreign = g_books[g_left.owner].tid;
    g_left.block = NULL;
}

static void *come_and_go(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument;
    unsigned n = self % 7;

    g_books[self].tid = gettid();
    own_free(use_passed(n), n);
    free_left(self);
    g_left.block = own_malloc(n + 1);
    g_left.n = n + 1;
    g_left.owner = self;
    g_books[self].allocated = OWN_BYTES(n) + OWN_BYTES(n + 1);
    g_books[self].freed_own = OWN_BYTES(n);
    return argument;
}

static void *stay(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument;
    unsigned n = 20 + self - N_GONE;

    g_books[self].tid = gettid();
    pthread_setname_np(pthread_self(), "a \"b\",\nc");
    g_books[self].allocated = OWN_BYTES(n);
    struct mtrace_scope scope = mtrace_enter(mtrace_group_intern("stays", NULL, 0));
    void *block = keep_for_life(n);
    mtrace_exit(scope);
    pthread_barrier_wait(&g_all_there);
    pthread_barrier_wait(&g_asked);
    own_free(block, n);
    return argument;
}

/* All files are open before the first request: requests allocate nothing. */
static void ask_all(const char *folder)
{
    static const char *const requests[][2] = {
        {"threads.csv", "threads --csv --count 0"},
        {"threads.txt", "threads --wide --count 0"},
        {"threads.json", "threads --json --count 0"},
        {"flows.csv", "flows --csv --count 0"},
        {"stacks.csv", "groups --csv --count 0 --stacks"},
        {"stacks.txt", "groups --count 0 --stacks"},
        {"full.txt", "groups --count 0 --stacks --wide"},
        {"none.csv", "groups --csv --count 0 --stacks --no-symbols"},
        {"allocated.folded", "export --to flamegraph.pl --measure allocated"},
        {"live.folded", "export --to flamegraph.pl --measure live --at end"},
        {"top.csv", "groups --csv --count 2 --sort-by allocated_bytes --order dsc"},
        {"rest.csv", "groups --csv --count 0 --sort-by allocated_bytes --order dsc --skip 2"},
        {"with.csv", "groups --csv --count 0 --function-regex ^keep_for_life$"},
        {"without.csv", "groups --csv --count 0 --negative-function-regex ^keep_for_life$"},
        {"blamed.csv", "hot --csv --count 0"},
        {"past.csv", "hot --csv --count 0 --blame-past ^pass_on$"},
        {"large.csv", "groups --csv --count 0 --size-min 20777"},
        {"large_none.csv", "groups --csv --count 0 --size-min 20777 --no-symbols"},
        {"total.csv", "by-group --csv --count 0"},
        {"sql.csv",
         "--csv sql 'SELECT thread_id, sum(size_bytes) AS bytes FROM allocations GROUP BY 1'"},
    };

    enum {
        N = sizeof(requests) / sizeof(requests[0])
    };

    int fds[N];

    for (int i = 0; i < N; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, requests[i][0]);
        fds[i] = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    for (int i = 0; i < N; i++) {
        int code = mtrace_report(requests[i][1], fds[i]);
        if (code != (mtrace_present() ? 0 : ENOTCONN))
            fprintf(stderr, "%s: %s\n", requests[i][0], strerror(code));
        close(fds[i]);
    }
}

static void write_books(const char *folder)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/books.csv", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fprintf(file, "tid,allocated,freed_own,freed_foreign,foreign\n");
    for (unsigned i = 0; i < N_THREADS; i++)
        fprintf(file, "%d,%llu,%llu,%llu,%d\n", g_books[i].tid, g_books[i].allocated,
                g_books[i].freed_own, g_books[i].freed_foreign, g_books[i].foreign);
    fclose(file);
}

int main(int argc, char **argv)
{
    pthread_t threads[N_STAY];

    if (argc != 2)
        return 2;
    pthread_barrier_init(&g_all_there, NULL, N_STAY + 1);
    pthread_barrier_init(&g_asked, NULL, N_STAY + 1);
    for (uintptr_t i = 0; i < N_GONE; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, come_and_go, (void *)i) != 0)
            abort();
        pthread_join(thread, NULL);
    }
    for (uintptr_t i = 0; i < N_STAY; i++)
        if (pthread_create(&threads[i], NULL, stay, (void *)(N_GONE + i)) != 0)
            abort();
    pthread_barrier_wait(&g_all_there);
    ask_all(argv[1]);
    pthread_barrier_wait(&g_asked);
    for (int i = 0; i < N_STAY; i++)
        pthread_join(threads[i], NULL);
    own_free(g_left.block, g_left.n);
    write_books(argv[1]);
    return 0;
}
