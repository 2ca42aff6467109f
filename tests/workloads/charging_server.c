/* SPDX-License-Identifier: MIT */
/*
 * charging_server: worker threads serve requests of tenants; every byte is charged to its request,
 * and by its tags to tenant and kind. Requests move between threads; blocks that stay in a cache
 * are charged to the cache. The server keeps its own counts.
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum {
    N_WORKERS = 8,
    N_TENANTS = 5,
    N_KINDS = 2,
    N_REQUESTS = 4000,
    N_QUEUE = 64,
    N_PARTS = 12, /* blocks of a request, at most */
};

/* A request in progress, with its own blocks. */
struct request {
    unsigned number, tenant, kind, stage;
    struct mtrace_context context;
    void *parts[N_PARTS];
    unsigned sizes[N_PARTS];
    unsigned n_parts;
};

static struct request g_requests[N_REQUESTS];

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct request *waiting[N_QUEUE];
    unsigned n_waiting, n_begun, n_done;
} g_server = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Own counts: by tenant, by kind, and of the first request of each tenant. */
struct account {
    unsigned long long allocated, freed, kept;
};

static struct account g_tenants[N_TENANTS], g_kinds[N_KINDS], g_first[N_TENANTS];
static unsigned long long g_cached;
static uint32_t g_cache;

static const char *const g_tenant_names[] = {"ant", "bee", "cat", "dog", "elk"};
static const char *const g_kind_names[] = {"read", "write"};

static void add(unsigned long long *sum, size_t bytes)
{
    __atomic_fetch_add(sum, bytes, __ATOMIC_RELAXED);
}

static void book(const struct request *request, size_t offset, size_t bytes)
{
    struct account *accounts[] = {&g_tenants[request->tenant], &g_kinds[request->kind],
                                  request->number < N_TENANTS ? &g_first[request->tenant] : NULL};

    for (int i = 0; i < 3; i++)
        if (accounts[i])
            add((unsigned long long *)(void *)((char *)accounts[i] + offset), bytes);
}

#define BOOK(request, member, bytes) book(request, offsetof(struct account, member), bytes)

static void take_part(struct request *request, unsigned n)
{
    request->sizes[request->n_parts] = n;
    request->parts[request->n_parts++] = own_malloc(n);
    BOOK(request, allocated, OWN_BYTES(n));
}

static void free_part(struct request *request)
{
    unsigned n = request->sizes[--request->n_parts];

    own_free(request->parts[request->n_parts], n);
    BOOK(request, freed, OWN_BYTES(n));
}

/* The last part stays, but is charged to the cache from now on. */
static void cache_part(struct request *request)
{
    unsigned n = request->sizes[--request->n_parts];

    mtrace_move(request->parts[request->n_parts], g_cache);
    add(&g_cached, OWN_BYTES(n));
}

/* Four stages, each maybe in another thread: allocate, free, allocate and cache, and finish. */
static void serve(struct request *request)
{
    unsigned seed = request->number * 7 + request->stage;

    for (unsigned i = 0; request->stage % 2 == 0 && i < 3 + seed % 3; i++)
        take_part(request, (seed + i) % 50);
    if (request->stage == 1 || request->stage == 3)
        for (unsigned i = 0; i < 2 && request->n_parts > 0; i++)
            free_part(request);
    if (request->stage == 2 && request->number % 100 == 0)
        cache_part(request);
    if (request->stage < 3)
        return;
    while (request->n_parts > (request->number % 50 == 0)) /* one in fifty leaks a block */
        free_part(request);
    if (request->n_parts)
        BOOK(request, kept, OWN_BYTES(request->sizes[0]));
}

static uint32_t begin(struct request *request, unsigned number)
{
    char text[16];
    struct mtrace_tag tags[] = {{"tenant", g_tenant_names[number % N_TENANTS]},
                                {"kind", g_kind_names[number % N_KINDS]},
                                {"request", text}};

    snprintf(text, sizeof(text), "%u", number);
    request->number = number;
    request->tenant = number % N_TENANTS;
    request->kind = number % N_KINDS;
    return mtrace_group_register("request", tags, 3);
}

/* The next thing to do, or NULL when all is done; locked. */
static struct request *next(bool *ret_is_new)
{
    for (;;) {
        *ret_is_new = g_server.n_waiting < N_QUEUE / 2 && g_server.n_begun < N_REQUESTS;
        if (*ret_is_new)
            return &g_requests[g_server.n_begun++];
        if (g_server.n_waiting > 0)
            return g_server.waiting[--g_server.n_waiting];
        if (g_server.n_done == N_REQUESTS)
            return NULL;
        pthread_cond_wait(&g_server.changed, &g_server.lock);
    }
}

static void put_back(struct request *request)
{
    if (request->stage == 4)
        g_server.n_done++;
    else
        g_server.waiting[g_server.n_waiting++] = request;
    pthread_cond_broadcast(&g_server.changed);
}

static void *work(void *unused)
{
    struct request *request;
    bool is_new;

    (void)unused;
    pthread_mutex_lock(&g_server.lock);
    while ((request = next(&is_new)) != NULL) {
        struct mtrace_scope scope;
        pthread_mutex_unlock(&g_server.lock);
        if (is_new) {
            scope = mtrace_enter(begin(request, (unsigned)(request - g_requests)));
            request->context = mtrace_context_capture();
        } else {
            scope = mtrace_context_adopt(request->context);
        }
        serve(request);
        request->stage++;
        mtrace_exit(scope);
        pthread_mutex_lock(&g_server.lock);
        put_back(request);
    }
    pthread_mutex_unlock(&g_server.lock);
    return unused;
}

static void expect_account(const char *format, const char *name, unsigned long long value)
{
    char text[64];

    snprintf(text, sizeof(text), format, name);
    expect(text, value);
}

/* All reports that the server can request at any time, each into a file of the folder. */
static void report(const char *folder, const char *when)
{
    static const char *const requests[][2] = {
        {"threads", "threads --csv"},           {"stacks", "groups --csv --count 0 --stacks"},
        {"groups", "by-group --csv --count 0"}, {"tags", "by-tag --csv --count 0"},
        {"flows", "flows --csv --count 0"},     {"json", "by-group --json --count 0"}};
    char path[4096];

    for (size_t i = 0; folder && i < sizeof(requests) / sizeof(requests[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s.%s", folder, when, requests[i][0]);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int code = mtrace_report(requests[i][1], fd);
        if (code != (mtrace_present() ? 0 : ENOTCONN))
            fprintf(stderr, "%s: %s\n", path, strerror(code));
        close(fd);
    }
}

/* charging_server [FOLDER]: with reports in the middle, while requests are served, and at the
 * end. */
int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : NULL;
    pthread_t workers[N_WORKERS];

    g_cache = mtrace_group_intern("cache", NULL, 0);
    for (int i = 0; i < N_WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    report(folder, "midst");
    for (int i = 0; i < N_WORKERS; i++)
        pthread_join(workers[i], NULL);
    report(folder, "end");
    expect_own();
    for (int i = 0; i < N_TENANTS; i++) {
        char number[32];
        expect_account("tag_allocated.tenant=%s", g_tenant_names[i], g_tenants[i].allocated);
        expect_account("tag_freed.tenant=%s", g_tenant_names[i], g_tenants[i].freed);
        expect_account("tag_leaked.tenant=%s", g_tenant_names[i], g_tenants[i].kept);
        snprintf(number, sizeof(number), "request=%d", i);
        expect_account("tag_allocated.%s", number, g_first[i].allocated);
        expect_account("tag_freed.%s", number, g_first[i].freed);
    }
    for (int i = 0; i < N_KINDS; i++) {
        expect_account("tag_allocated.kind=%s", g_kind_names[i], g_kinds[i].allocated);
        expect_account("tag_freed.kind=%s", g_kind_names[i], g_kinds[i].freed);
        expect_account("tag_leaked.kind=%s", g_kind_names[i], g_kinds[i].kept);
    }
    expect("group_bytes.cache", g_cached);
    expect("group_leaked.cache", g_cached);
    expect("groups_named.request", N_REQUESTS);
    return 0;
}
