/* SPDX-License-Identifier: MIT */
/*
 * shared_slots [FOLDER [beside_child]]: a server's cache, as its allocator sees it. Threads share
 * slots: a thread allocates into an empty slot; it frees, resizes or moves the block of a full one
 * to another group, whichever thread made it. Each thread also has its own blocks. The program
 * keeps its own counts of each group. From time to time all threads stand still. With a FOLDER the
 * program then requests a report on its groups, and writes its own counts beside the answer:
 * FOLDER/still.N and FOLDER/books.N. Another thread requests reports all the time, into
 * FOLDER/busy. The time between two stops is a phase. beside_child: an idle child exists all the
 * time.
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum {
    N_THREADS = 4,
    N_GROUPS = 7,
    N_SLOTS = 600,
    N_ROUNDS = 16,
    N_STEPS = 4000, /* of a thread, in a round */
    N_OWN = 5,      /* all but one of so many are with blocks of its own */
    N_BURST = 20,   /* and so many without a pause */
    PAUSE_US = 1000,
};

struct slot {
    pthread_mutex_t lock;
    void *block;
    size_t bytes;
    unsigned owner;
};

struct account {
    unsigned long long allocated_blocks, allocated_bytes, freed_blocks, freed_bytes;
    long long leaked_blocks, leaked_bytes;
};

static struct slot g_slots[N_SLOTS];
static struct account g_books[N_GROUPS];
static struct account g_rounds[N_ROUNDS + 1]; /* what all groups had before each */
static uint32_t g_groups[N_GROUPS];
static pthread_barrier_t g_begun, g_done;
static bool g_is_over;

static void add(long long *sum, long long n)
{
    __atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static void count(unsigned long long *blocks, unsigned long long *bytes, size_t n)
{
    __atomic_fetch_add(blocks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(bytes, n, __ATOMIC_RELAXED);
}

static void change(struct slot *slot, unsigned owner, long long sign)
{
    add(&g_books[owner].leaked_blocks, sign);
    add(&g_books[owner].leaked_bytes, sign * (long long)slot->bytes);
}

static void book_allocation(struct slot *slot, size_t bytes, unsigned owner)
{
    slot->bytes = bytes;
    slot->owner = owner;
    count(&g_books[owner].allocated_blocks, &g_books[owner].allocated_bytes, bytes);
    change(slot, owner, 1);
}

static void book_end(struct slot *slot)
{
    struct account *account = &g_books[slot->owner];

    count(&account->freed_blocks, &account->freed_bytes, slot->bytes);
    change(slot, slot->owner, -1);
}

static void fill(struct slot *slot, unsigned group, unsigned chance)
{
    static const char text[] = "what a request says of itself, of which more or less is kept";
    size_t bytes = 16 + chance % 40;

    if (chance % 3 == 0)
        slot->block = malloc(bytes);
    else if (chance % 3 == 1)
        slot->block = calloc(1, bytes);
    else
        slot->block = strdup(text + sizeof(text) - bytes);
    book_allocation(slot, bytes, group);
}

static void resize(struct slot *slot, unsigned group, unsigned chance)
{
    size_t bytes = 16 + chance % 400;

    slot->block = realloc(slot->block, bytes);
    book_end(slot);
    book_allocation(slot, bytes, group);
}

static void move(struct slot *slot, unsigned group)
{
    mtrace_move(slot->block, g_groups[group]);
    change(slot, slot->owner, -1);
    slot->owner = group;
    change(slot, slot->owner, 1);
}

static void empty(struct slot *slot)
{
    free(slot->block);
    slot->block = NULL;
    book_end(slot);
}

static void use(struct slot *slot, unsigned group, unsigned chance)
{
    struct mtrace_scope scope = mtrace_enter(g_groups[group]);

    pthread_mutex_lock(&slot->lock);
    if (!slot->block)
        fill(slot, group, chance);
    else if (chance % 100 < 60)
        empty(slot);
    else if (chance % 100 < 90)
        resize(slot, group, chance / 10);
    else
        move(slot, (group + 1) % N_GROUPS);
    pthread_mutex_unlock(&slot->lock);
    mtrace_exit(scope);
}

/* Memory that a request needs until it is served. */
static void use_own(unsigned group, unsigned chance)
{
    struct mtrace_scope scope = mtrace_enter(g_groups[group]);
    struct slot own[4];

    for (unsigned i = 0; i < 4; i++)
        fill(&own[i], group, chance + 3 * i);
    for (unsigned i = 0; i < 4; i++)
        empty(&own[i]);
    mtrace_exit(scope);
}

static void *work(void *argument)
{
    unsigned long long chance = (unsigned long long)(size_t)argument + 1;

    for (int round = 0; round < N_ROUNDS; round++) {
        pthread_barrier_wait(&g_begun);
        for (int i = 0; i < N_STEPS; i++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            unsigned high = (unsigned)(chance >> 33);
            unsigned group = high / N_SLOTS % N_GROUPS;
            if (i % N_OWN == 0)
                use(&g_slots[high % N_SLOTS], group, high / 5000);
            else
                use_own(group, high / 5000);
            if (i % N_BURST == 0)
                usleep(PAUSE_US);
        }
        pthread_barrier_wait(&g_done);
    }
    return NULL;
}

static void report(const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int code = mtrace_report("by-group --csv --count 0", fd);
    if (code != (mtrace_present() ? 0 : ENOTCONN))
        fprintf(stderr, "%s: %s\n", path, strerror(code));
    close(fd);
}

static void *ask(void *folder)
{
    while (!__atomic_load_n(&g_is_over, __ATOMIC_RELAXED))
        report(folder, "busy");
    return NULL;
}

static struct account sum_books(void)
{
    struct account sum = {0};

    for (int i = 0; i < N_GROUPS; i++) {
        sum.allocated_blocks += g_books[i].allocated_blocks;
        sum.allocated_bytes += g_books[i].allocated_bytes;
        sum.freed_blocks += g_books[i].freed_blocks;
        sum.freed_bytes += g_books[i].freed_bytes;
    }
    return sum;
}

static void write_rounds(void)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        const struct account *before = &g_rounds[i], *after = &g_rounds[i + 1];
        printf("round %d,%llu,%llu,%llu,%llu,,\n", i,
               after->allocated_blocks - before->allocated_blocks,
               after->allocated_bytes - before->allocated_bytes,
               after->freed_blocks - before->freed_blocks,
               after->freed_bytes - before->freed_bytes);
    }
}

static void write_books(FILE *file)
{
    fprintf(file, "name,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,"
                  "leaked_bytes\n");
    for (unsigned i = 0; i < N_GROUPS; i++) {
        const struct account *account = &g_books[i];
        fprintf(file, "tenant %u,%llu,%llu,%llu,%llu,%lld,%lld\n", i, account->allocated_blocks,
                account->allocated_bytes, account->freed_blocks, account->freed_bytes,
                account->leaked_blocks, account->leaked_bytes);
    }
}

static void do_round(int round)
{
    char name[16];

    snprintf(name, sizeof(name), "round %d", round);
    struct mtrace_scope phase = mtrace_phase_begin(name);
    pthread_barrier_wait(&g_begun);
    pthread_barrier_wait(&g_done);
    mtrace_phase_end(phase);
    g_rounds[round + 1] = sum_books();
}

static void stand_still(const char *folder, int round)
{
    char name[32], path[4096];

    snprintf(name, sizeof(name), "still.%d", round);
    report(folder, name);
    snprintf(path, sizeof(path), "%s/books.%d", folder, round);
    FILE *file = fopen(path, "w");
    write_books(file);
    fclose(file);
}

/* Until the other end of the pipe is closed. */
static void idle(int pipe)
{
    struct pollfd end = {.fd = pipe};

    do
        free(malloc(100));
    while (poll(&end, 1, 100) == 0);
    _exit(0);
}

/* *ret_pipe: to be closed. */
static pid_t make_child(int *ret_pipe)
{
    int pipes[2];
    pid_t pid = pipe2(pipes, O_CLOEXEC) == 0 ? fork() : -1;

    if (pid == 0) {
        close(pipes[1]);
        idle(pipes[0]);
    }
    if (pid < 0)
        exit(1);
    close(pipes[0]);
    *ret_pipe = pipes[1];
    return pid;
}

int main(int argc, char **argv)
{
    char *folder = argc > 1 ? argv[1] : NULL;
    pthread_t threads[N_THREADS], requester;
    int pipe = -1;
    pid_t child = argc > 2 ? make_child(&pipe) : 0;

    for (unsigned i = 0; i < N_GROUPS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "tenant %u", i);
        g_groups[i] = mtrace_group_intern(name, NULL, 0);
    }
    for (int i = 0; i < N_SLOTS; i++)
        pthread_mutex_init(&g_slots[i].lock, NULL);
    pthread_barrier_init(&g_begun, NULL, N_THREADS + 1);
    pthread_barrier_init(&g_done, NULL, N_THREADS + 1);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    if (folder)
        pthread_create(&requester, NULL, ask, folder);
    for (int round = 0; round < N_ROUNDS; round++) {
        do_round(round);
        if (folder)
            stand_still(folder, round);
    }
    __atomic_store_n(&g_is_over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    if (folder)
        pthread_join(requester, NULL);
    close(pipe);
    if (child)
        waitpid(child, NULL, 0);
    write_books(stdout);
    write_rounds();
    return 0;
}
