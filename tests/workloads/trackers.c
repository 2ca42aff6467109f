/* SPDX-License-Identifier: MIT */
/*
 * trackers: event callbacks, parts of the check list of trackers, by the name in argv[1]. The
 * events that a callback received are compared here with the program's actions, and by the database
 * with the recorded events. Without a collector no events are reported, and nothing is wrong.
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum {
    ALL = MTRACE_EVENT_ALLOC | MTRACE_EVENT_FREE | MTRACE_EVENT_RESIZE,
    WITH_MOVES = ALL | MTRACE_EVENT_MOVE,
    N_THREADS = 8,
    N_OWNERS = 5,
    N_PARCELS = 8,
    N_ROUNDS = 20000,
    N_AT_ONCE = 10000,
    STACK_BYTES = 65536,
};

/* Events of own blocks that a tracker received: sizes that end in 777. */
struct heard {
    _Atomic uint64_t allocs, frees, resizes, live_bytes;
    struct mtrace_event last; /* if one thread reports */
};

static unsigned g_n_wrong;

static void check(bool is_right, const char *what)
{
    if (is_right || !mtrace_present())
        return;
    fprintf(stderr, "wrong: %s\n", what);
    g_n_wrong++;
}

static bool is_own(size_t size_bytes)
{
    return size_bytes % 1000 == 777;
}

static void hear(const struct mtrace_event *event, void *user)
{
    struct heard *heard = user;

    if (!is_own(event->size_bytes))
        return;
    heard->last = *event;
    if (event->kind == MTRACE_EVENT_ALLOC)
        heard->allocs++;
    else if (event->kind == MTRACE_EVENT_FREE)
        heard->frees++;
    else
        heard->resizes++;
    if (event->kind != MTRACE_EVENT_FREE)
        heard->live_bytes += event->size_bytes;
    if (event->kind != MTRACE_EVENT_ALLOC)
        heard->live_bytes -=
            event->kind == MTRACE_EVENT_FREE ? event->size_bytes : event->old_size_bytes;
}

static void check_counts(const struct heard *heard, uint64_t allocs, uint64_t frees,
                         uint64_t resizes)
{
    check(heard->allocs == allocs, "allocations");
    check(heard->frees == frees, "frees");
    check(heard->resizes == resizes, "resizes");
}

/* T5: both sizes; a realloc is one event with both blocks. */
static void sizes(void)
{
    struct heard heard = {0};
    int handle = mtrace_tracker_add(hear, &heard, ALL);
    char *block = own_malloc(1);
    char *bigger;
    void *aligned = NULL;

    check(handle > 0, "handle");
    check(heard.last.kind == MTRACE_EVENT_ALLOC && heard.last.address == block
              && heard.last.old_address == NULL,
          "malloc");
    check(heard.last.size_bytes == OWN_BYTES(1)
              && heard.last.usable_bytes == malloc_usable_size(block),
          "its sizes");
    bigger = keep(realloc(block, OWN_BYTES(200)));
    check_counts(&heard, 1, 0, 1);
    check(heard.last.address == bigger && heard.last.old_address != NULL
              && heard.last.size_bytes == OWN_BYTES(200)
              && heard.last.old_size_bytes == OWN_BYTES(1)
              && heard.last.usable_bytes == malloc_usable_size(bigger)
              && heard.last.old_usable_bytes >= OWN_BYTES(1),
          "realloc");
    free(bigger);
    check_counts(&heard, 1, 1, 1);
    check(heard.last.size_bytes == OWN_BYTES(200) && heard.last.usable_bytes >= OWN_BYTES(200),
          "free");
    if (posix_memalign(&aligned, 256, OWN_BYTES(3)) != 0)
        abort();
    check(heard.last.address == aligned && (uintptr_t)aligned % 256 == 0, "posix_memalign");
    free(keep(realloc(keep(calloc(1, OWN_BYTES(4))), 0)));
    check_counts(&heard, 3, 2, 1);
    check(heard.live_bytes == OWN_BYTES(3), "live bytes");
    check(keep(realloc(aligned, SIZE_MAX / 4)) == NULL && errno == ENOMEM, "no memory");
    check(keep(calloc(SIZE_MAX / 2, 3)) == NULL && errno == ENOMEM, "no number");
    expect("endless_failures", 1);
    check_counts(&heard, 3, 2, 1);
    free(aligned); /* it is still known */
    check_counts(&heard, 3, 3, 1);
    check(mtrace_tracker_remove(handle), "removed");
}

static void *free_elsewhere(void *block)
{
    free(block);
    return NULL;
}

/* T6: the groups of allocation and free, both threads, stacks and times, as the database has
 * them. */
static void groups(void)
{
    struct heard heard = {0};
    uint32_t maker = mtrace_group_intern("maker", NULL, 0);
    uint32_t taker = mtrace_group_intern("taker", NULL, 0);
    int handle = mtrace_tracker_add(hear, &heard, ALL);
    struct mtrace_scope scope = mtrace_enter(maker);
    void *block = own_malloc(1);
    struct mtrace_event allocated = heard.last;
    pthread_t thread;
    char text[64];

    check(allocated.group == maker && allocated.current_group == maker, "group of an allocation");
    check(mtrace_group_of(block) == maker, "group of the block");
    check(mtrace_group_of((char *)block + 16) == 0 && mtrace_group_of(&heard) == 0, "no block");
    mtrace_exit(scope);
    scope = mtrace_enter(taker);
    block = keep(realloc(block, OWN_BYTES(2)));
    check(heard.last.group == maker && heard.last.current_group == taker, "groups of a resize");
    check(mtrace_group_of(block) == taker, "group after a resize");
    mtrace_move(block, maker);
    check(mtrace_group_of(block) == maker, "group after a move");
    mtrace_exit(scope);
    allocated = heard.last;
    pthread_create(&thread, NULL, free_elsewhere, block);
    pthread_join(thread, NULL);
    check(heard.last.group == maker && heard.last.current_group == MTRACE_GROUP_ROOT,
          "groups of a free");
    check(heard.last.thread_id != heard.last.alloc_thread_id
              && heard.last.alloc_thread_id == allocated.thread_id,
          "threads");
    check(heard.last.time_ns >= allocated.time_ns, "times");
    check(mtrace_group_of(block) == 0, "group of what was freed");
    check(heard.last.alloc_stack_id == allocated.stack_id
              && heard.last.stack_id != allocated.stack_id && allocated.stack_id != 0,
          "stacks");
    snprintf(text, sizeof(text), "%u %u", heard.last.alloc_thread_id, heard.last.thread_id);
    mtrace_marker(text);
    mtrace_tracker_remove(handle);
    expect("ids_reported", 1);
    expect("freed_in.root", OWN_BYTES(2));
}

static _Atomic uintptr_t g_kept;

static void allocate_and_free(const struct mtrace_event *event, void *user)
{
    void *kept = keep(malloc(OWN_BYTES(50)));

    hear(event, user);
    own_free(own_malloc(60), 60);
    free((void *)atomic_exchange(&g_kept, (uintptr_t)kept));
    errno = EDOM;
}

/* T7: blocks that a callback allocates are not reported, nor their frees, here or elsewhere. */
static void nested(void)
{
    struct heard heard = {0};
    int handle = mtrace_tracker_add(allocate_and_free, &heard, ALL);
    void *block;

    errno = ERANGE;
    block = own_malloc(1);
    check(errno == ERANGE, "errno");
    own_free(block, 1);
    block = keep(realloc(own_malloc(2), OWN_BYTES(3)));
    check_counts(&heard, 2, 1, 1);
    free((void *)atomic_exchange(&g_kept, 0)); /* of the last callback: its free is not reported */
    check_counts(&heard, 2, 1, 1);
    mtrace_tracker_remove(handle);
    free(block);
    check(mtrace_counters().unreported == 0, "unreported");
    check(mtrace_current_group() == MTRACE_GROUP_ROOT, "group");
    expect("wrong_group_bytes", 0);
}

static void free_what_is_known(const struct mtrace_event *event, void *user)
{
    hear(event, user);
    free((void *)atomic_exchange(&g_kept, 0));
}

/* Reported blocks that are freed in a callback are counted. */
static void unreported(void)
{
    struct heard heard = {0};
    int handle = mtrace_tracker_add(hear, &heard, ALL);
    int other;

    atomic_store(&g_kept, (uintptr_t)own_malloc(1));
    other = mtrace_tracker_add(free_what_is_known, &heard, ALL);
    own_malloc(2);
    check(mtrace_counters().unreported == 1, "unreported");
    mtrace_tracker_remove(handle);
    mtrace_tracker_remove(other);
    check_counts(&heard, 3, 0, 0);
}

/* T8, T9: untracked blocks are not reported, nor those allocated while tracking is off; but all
 * frees of reported blocks are. */
static void silent(void)
{
    struct heard heard = {0};
    void *before = own_malloc(9);
    int handle = mtrace_tracker_add(hear, &heard, ALL);
    struct mtrace_scope off = mtrace_enter(MTRACE_GROUP_UNTRACKED);
    void *nobodys = own_malloc(1);
    void *reported;

    mtrace_exit(off);
    own_free(nobodys, 1);
    own_free(before, 9); /* allocated before the tracker was added */
    check_counts(&heard, 0, 0, 0);
    reported = own_malloc(2);
    before = own_malloc(3);
    mtrace_tracking(false);
    own_free(reported, 2);
    reported = keep(malloc(5777));
    before = keep(realloc(before, OWN_BYTES(4)));
    mtrace_tracking(true);
    free(reported);
    check_counts(&heard, 2, 1, 1);
    own_free(before, 4);
    check_counts(&heard, 2, 2, 1);
    check(heard.live_bytes == 0, "drift");
    mtrace_tracker_remove(handle);
}

static void remove_itself(const struct mtrace_event *event, void *user)
{
    struct heard *heard = user;

    hear(event, user);
    if (!mtrace_tracker_remove((int)heard->live_bytes))
        heard->frees += 100;
}

static void *make_and_free(void *argument)
{
    for (unsigned i = 0; i < N_ROUNDS; i++)
        free(keep(malloc(OWN_BYTES(1))));
    return argument;
}

/* T10: several trackers, each with its kinds; they are replaced while threads report, and never
 * called after that. */
static void replaced(void)
{
    struct heard heard[3] = {{0}};
    struct heard *guarded = calloc(1, sizeof(*guarded));
    struct heard itself = {0};
    pthread_t threads[N_THREADS];
    int handles[20];
    unsigned n = 0;

    handles[0] = mtrace_tracker_add(hear, &heard[0], MTRACE_EVENT_ALLOC);
    handles[1] = mtrace_tracker_add(hear, &heard[1], MTRACE_EVENT_FREE);
    handles[2] = mtrace_tracker_add(hear, &heard[2], ALL);
    own_free(own_malloc(1), 1);
    check_counts(&heard[0], 1, 0, 0);
    check_counts(&heard[1], 0, 1, 0);
    check_counts(&heard[2], 1, 1, 0);
    for (unsigned i = 0; i < 3; i++)
        check(mtrace_tracker_remove(handles[i]), "removed");
    check(!mtrace_tracker_remove(handles[0]) && !mtrace_tracker_remove(0)
              && !mtrace_tracker_remove(-5) && !mtrace_tracker_remove(1 << 30),
          "stale handles");
    check(mtrace_tracker_add(NULL, NULL, ALL) == 0 && mtrace_tracker_add(hear, NULL, 0) == 0,
          "no tracker");
    while (n < 20 && (handles[n] = mtrace_tracker_add(hear, &heard[0], ALL)) != 0)
        n++;
    check(n == 16, "at most 16");
    while (n > 0)
        check(mtrace_tracker_remove(handles[--n]), "removed");
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, make_and_free, NULL);
    for (unsigned i = 0; i < 50; i++) {
        int handle = mtrace_tracker_add(hear, guarded, ALL);
        usleep(200);
        mtrace_tracker_remove(handle);
        memset(guarded, 0x55, sizeof(*guarded)); /* no callback counts in it now */
        usleep(200);
        check(guarded->allocs == 0x5555555555555555 && guarded->frees == 0x5555555555555555,
              "called after its removal");
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    free(guarded);
    itself.live_bytes = (uint64_t)mtrace_tracker_add(remove_itself, &itself, MTRACE_EVENT_FREE);
    for (unsigned i = 0; i < 3; i++)
        free(keep(malloc(0)));
    own_free(own_malloc(1), 1);
    check(itself.frees <= 1, "removed itself");
}

static pthread_key_t g_key;
static struct heard g_late;

static void allocate_late(void *value)
{
    own_free(own_malloc((unsigned)(uintptr_t)value), (unsigned)(uintptr_t)value);
    if ((uintptr_t)value < 5) /* one for each round that glibc makes, and one more */
        pthread_setspecific(g_key, (void *)((uintptr_t)value + 1));
}

static void *end_with_destructors(void *argument)
{
    pthread_setspecific(g_key, argument);
    return NULL;
}

static void handle_signal(int number)
{
    (void)number;
    own_free(own_malloc(60), 60);
}

static void at_exit(void)
{
    uint64_t before = g_late.allocs;

    own_free(own_malloc(50), 50);
    check(g_late.allocs == before + 1 && g_late.live_bytes == 0, "after main");
    if (g_n_wrong != 0)
        _exit(1);
}

/* T12: in destructors of thread-specific data, in handlers, in a fork child, and after main. */
static void late(void)
{
    struct sigaction action = {.sa_handler = handle_signal};
    pthread_t thread;
    int status;
    pid_t child;

    mtrace_tracker_add(hear, &g_late, ALL);
    pthread_key_create(&g_key, allocate_late);
    pthread_create(&thread, NULL, end_with_destructors, (void *)1);
    pthread_join(thread, NULL);
    check_counts(&g_late, 4, 4, 0);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_counts(&g_late, 5, 5, 0);
    child = fork();
    if (child == 0) {
        void *block = malloc(3777);
        check(g_late.live_bytes == 3777, "in a child");
        free(keep(block));
        check(g_late.live_bytes == 0 && g_late.frees == 6, "in a child, freed");
        _exit(g_n_wrong != 0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        g_n_wrong++;
    atexit(at_exit);
}

static jmp_buf g_back;

static void jump_out(const struct mtrace_event *event, void *user)
{
    hear(event, user);
    longjmp(g_back, 1);
}

static void end_thread(const struct mtrace_event *event, void *user)
{
    hear(event, user);
    pthread_exit(NULL);
}

static void *allocate_one(void *argument)
{
    free(keep(malloc(OWN_BYTES(3))));
    return argument;
}

__attribute__((noinline)) static void allocate_deeper(void)
{
    char room[4096];

    keep(room);
    keep(malloc(OWN_BYTES(1)));
}

/* A callback that never returns: left by longjmp, or by the end of its thread. */
static void never_returns(void)
{
    struct heard heard = {0};
    int handle = mtrace_tracker_add(jump_out, &heard, MTRACE_EVENT_ALLOC);
    pthread_t thread;

    if (setjmp(g_back) == 0 && mtrace_present())
        allocate_deeper();
    check(mtrace_tracker_remove(handle), "left by longjmp, and removed");
    handle = mtrace_tracker_add(hear, &heard, MTRACE_EVENT_FREE);
    own_free(own_malloc(2), 2);
    check_counts(&heard, 1, 1, 0);
    check(mtrace_current_group() == MTRACE_GROUP_ROOT, "group");
    mtrace_tracker_remove(handle);
    handle = mtrace_tracker_add(end_thread, &heard, MTRACE_EVENT_FREE);
    pthread_create(&thread, NULL, allocate_one, NULL);
    pthread_join(thread, NULL);
    check(mtrace_tracker_remove(handle), "left by the end of a thread, and removed");
}

/* Many threads hand blocks to each other: no free is lost. */
static void *_Atomic g_exchange[64];

static void *hand_over(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        seed = seed * 1103515245u + 12345u;
        unsigned at = seed >> 16 & 63;
        void *block = atomic_exchange(&g_exchange[at], NULL);
        if (block && seed >> 24 & 1)
            block = realloc(block, OWN_BYTES(seed >> 25 & 31));
        else if (block)
            free(block), block = NULL;
        else
            block = malloc(OWN_BYTES(seed >> 25 & 31));
        free(atomic_exchange(&g_exchange[at], keep(block)));
    }
    return NULL;
}

static void crowd(void)
{
    struct heard heard = {0};
    int handle = mtrace_tracker_add(hear, &heard, ALL);
    pthread_t threads[N_THREADS];

    for (uintptr_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, hand_over, (void *)(i + 1));
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 64; i++)
        free(g_exchange[i]);
    check(heard.allocs == heard.frees && heard.live_bytes == 0 && heard.resizes > 1000, "balance");
    check(mtrace_counters().unreported == 0, "unreported");
    mtrace_tracker_remove(handle);
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Own blocks by group: as a tracker received them, or as the program counted them. */
struct account {
    _Atomic int64_t allocated, freed, in, out, blocks; /* but for the last: bytes */
};

static const char *const g_owner_names[N_OWNERS] = {"root", "first", "second", "third",
                                                    "untracked"};
static uint32_t g_owners[N_OWNERS] = {MTRACE_GROUP_ROOT}; /* by their names; untracked is 0 */
static struct account g_own_books[N_OWNERS];

static struct mtrace_event g_last_move;

static unsigned owner_of(uint32_t group)
{
    unsigned at = 0;

    while (at < N_OWNERS && g_owners[at] != group)
        at++;
    check(at < N_OWNERS, "a group that nobody made");
    return at % N_OWNERS;
}

static void book_allocation(struct account *account, size_t bytes)
{
    account->allocated += (int64_t)bytes;
    account->blocks++;
}

static void book_end(struct account *account, size_t bytes)
{
    account->freed += (int64_t)bytes;
    account->blocks--;
}

static void book_move(struct account *from, struct account *to, size_t bytes)
{
    from->out += (int64_t)bytes;
    from->blocks--;
    to->in += (int64_t)bytes;
    to->blocks++;
}

static void keep_books(const struct mtrace_event *event, void *user)
{
    struct account *books = user;
    struct account *group, *current;

    if (!is_own(event->size_bytes))
        return;
    group = &books[owner_of(event->group)];
    if (event->kind == MTRACE_EVENT_FREE) {
        book_end(group, event->size_bytes);
        return;
    }
    current = &books[owner_of(event->current_group)];
    if (event->kind == MTRACE_EVENT_MOVE)
        book_move(group, current, event->size_bytes);
    else
        book_allocation(current, event->size_bytes);
    if (event->kind == MTRACE_EVENT_RESIZE)
        book_end(group, event->old_size_bytes);
}

static void make_owners(void)
{
    for (unsigned i = 1; i < N_OWNERS - 1; i++)
        g_owners[i] = mtrace_group_intern(g_owner_names[i], NULL, 0);
}

static void expect_of(const char *figure, const char *name, int64_t value)
{
    char text[64];

    snprintf(text, sizeof(text), "%s.%s", figure, name);
    expect(text, (unsigned long long)value);
}

/* For each group the database has the program's counts, and so does the tracker. Blocks of the C
 * library are the root's alone, of which only single blocks are compared. */
static void check_books(const struct account *heard)
{
    for (unsigned i = 0; i < N_OWNERS; i++) {
        const struct account *own = &g_own_books[i];
        int64_t live_bytes = own->allocated + own->in - own->freed - own->out;

        check(heard[i].allocated == own->allocated && heard[i].freed == own->freed,
              "allocated and freed bytes");
        check(heard[i].in == own->in && heard[i].out == own->out, "moves");
        check(heard[i].blocks == own->blocks, "live blocks");
        expect_of("group_leaked", g_owner_names[i], live_bytes);
        expect_of("moved_in", g_owner_names[i], own->in);
        expect_of("moved_out", g_owner_names[i], own->out);
        if (i == 0)
            continue;
        expect_of("live_in_group", g_owner_names[i], live_bytes);
        expect_of("live_blocks_in_group", g_owner_names[i], own->blocks);
        expect_of("allocated_in_group", g_owner_names[i], own->allocated);
        expect_of("freed_in_group", g_owner_names[i], own->freed);
    }
}

struct parcel {
    void *block;
    unsigned n, owner;
};

/* A row for each thread; in the next round it has the next thread's. */
static struct parcel g_parcels[N_THREADS][N_PARCELS];

static void allocate_parcel(struct parcel *parcel, unsigned owner, unsigned n)
{
    struct mtrace_scope scope = mtrace_enter(g_owners[owner]);

    *parcel = (struct parcel){own_malloc(n), n, owner};
    mtrace_exit(scope);
    book_allocation(&g_own_books[owner], OWN_BYTES(n));
}

static void move_to(struct parcel *parcel, unsigned owner)
{
    check(mtrace_move(parcel->block, g_owners[owner]), "moved");
    if (owner != parcel->owner)
        book_move(&g_own_books[parcel->owner], &g_own_books[owner], OWN_BYTES(parcel->n));
    parcel->owner = owner;
}

static void resize_in(struct parcel *parcel, unsigned owner, unsigned n)
{
    struct mtrace_scope scope = mtrace_enter(g_owners[owner]);

    parcel->block = keep(realloc(parcel->block, OWN_BYTES(n)));
    mtrace_exit(scope);
    own_count_free(OWN_BYTES(parcel->n));
    own_count_alloc(OWN_BYTES(n));
    book_end(&g_own_books[parcel->owner], OWN_BYTES(parcel->n));
    book_allocation(&g_own_books[owner], OWN_BYTES(n));
    parcel->n = n;
    parcel->owner = owner;
}

static void end_of(struct parcel *parcel)
{
    book_end(&g_own_books[parcel->owner], OWN_BYTES(parcel->n));
    own_free(parcel->block, parcel->n);
    parcel->block = NULL;
}

/* Allocations and resizes are charged to a group: blocks that are untracked from their beginning
 * are not reported. */
static void draw_parcel(struct parcel *parcel, unsigned draw)
{
    unsigned what = draw & 7;
    unsigned owner = (draw >> 3 & 63) % (N_OWNERS - 1);
    unsigned n = draw >> 9 & 31;

    if (!parcel->block)
        allocate_parcel(parcel, owner, n);
    else if (what == 0)
        end_of(parcel);
    else if (what == 1)
        resize_in(parcel, owner, n);
    else
        move_to(parcel, (draw >> 3 & 63) % N_OWNERS);
}

static pthread_barrier_t g_round;

static void *move_parcels(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    unsigned seed = number;

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        struct parcel *row = g_parcels[(number + i / N_PARCELS) % N_THREADS];

        if (i % N_PARCELS == 0)
            pthread_barrier_wait(&g_round);
        seed = seed * 1103515245u + 12345u;
        draw_parcel(&row[i % N_PARCELS], seed >> 10);
    }
    return NULL;
}

/* Counts by group stay right when any thread moves, resizes and frees. */
static void moves_of_a_crowd(void)
{
    struct account heard[N_OWNERS] = {{0}};
    int handle = mtrace_tracker_add(keep_books, heard, WITH_MOVES);
    pthread_t threads[N_THREADS];

    make_owners();
    pthread_barrier_init(&g_round, NULL, N_THREADS);
    for (uintptr_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, move_parcels, (void *)i);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < N_PARCELS; i++) /* the others stay */
        if (g_parcels[0][i].block)
            end_of(&g_parcels[0][i]);
    check(mtrace_tracker_remove(handle), "removed");
    check(mtrace_counters().unreported == 0 && mtrace_counters().bad_handles == 0, "unreported");
    check_books(heard);
    expect_own();
}

static void keep_books_and_last(const struct mtrace_event *event, void *user)
{
    if (event->kind == MTRACE_EVENT_MOVE)
        g_last_move = *event;
    keep_books(event, user);
}

static struct parcel g_signalled;

static void move_in_handler(int number)
{
    (void)number;
    move_to(&g_signalled, 1);
}

static void *move_to_third(void *parcel)
{
    move_to(parcel, 3);
    return NULL;
}

/* Moves allocated blocks of 50777 bytes to the third group. */
static void give_away(const struct mtrace_event *event, void *user)
{
    (void)user;
    if (event->size_bytes == OWN_BYTES(50))
        mtrace_move((void *)(uintptr_t)event->address, g_owners[3]);
}

/* As a move in a callback does, and a move of a block from before. */
static void book_unreported(struct account *books)
{
    book_move(&books[1], &books[3], OWN_BYTES(50));
    book_allocation(&books[0], OWN_BYTES(9));
    book_move(&books[0], &books[2], OWN_BYTES(9));
}

/* What is reported of a move: by another thread, in a handler; and which moves are not reported. */
static void moves(void)
{
    struct account heard[N_OWNERS] = {{0}};
    struct heard others = {0};
    struct sigaction action = {.sa_handler = move_in_handler};
    void *before = own_malloc(9);
    int handle = mtrace_tracker_add(keep_books_and_last, heard, WITH_MOVES);
    int other = mtrace_tracker_add(hear, &others, ALL);
    int giver;
    struct mtrace_scope scope;
    struct parcel parcel, given;
    struct mtrace_event allocated;
    uint32_t pool;
    pthread_t thread;

    make_owners();
    allocate_parcel(&parcel, 1, 1);
    allocated = others.last;
    scope = mtrace_enter(g_owners[3]);
    errno = ERANGE;
    move_to(&parcel, 2);
    check(errno == ERANGE, "errno");
    mtrace_exit(scope);
    check(g_last_move.kind == MTRACE_EVENT_MOVE && g_last_move.address == parcel.block
              && g_last_move.old_address == NULL,
          "a move");
    check(g_last_move.group == g_owners[1] && g_last_move.current_group == g_owners[2],
          "its groups");
    check(g_last_move.size_bytes == OWN_BYTES(1)
              && g_last_move.usable_bytes == malloc_usable_size(parcel.block)
              && g_last_move.old_size_bytes == 0 && g_last_move.old_usable_bytes == 0,
          "its sizes");
    check(g_last_move.thread_id == allocated.thread_id
              && g_last_move.alloc_thread_id == allocated.thread_id && g_last_move.stack_id == 0
              && g_last_move.alloc_stack_id == allocated.stack_id
              && g_last_move.time_ns >= allocated.time_ns,
          "its threads, stacks and time");
    pthread_create(&thread, NULL, move_to_third, &parcel);
    pthread_join(thread, NULL);
    check(g_last_move.group == g_owners[2] && g_last_move.current_group == g_owners[3]
              && g_last_move.thread_id != allocated.thread_id && g_last_move.thread_id != 0
              && g_last_move.alloc_thread_id == allocated.thread_id,
          "by another thread");
    allocate_parcel(&g_signalled, 2, 2);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check(g_last_move.address == g_signalled.block && g_last_move.current_group == g_owners[1],
          "in a handler");
    end_of(&parcel);
    check(others.last.kind == MTRACE_EVENT_FREE && others.last.group == g_owners[3],
          "the end of what was moved");
    allocate_parcel(&parcel, 1, 3);
    move_to(&parcel, N_OWNERS - 1); /* untracked, and its free is still reported */
    end_of(&parcel);
    check(others.frees == 2 && others.last.group == MTRACE_GROUP_UNTRACKED, "what is nobody's");
    allocate_parcel(&parcel, 1, 4);
    mtrace_tracking(false);
    move_to(&parcel, 2);
    mtrace_tracking(true);
    g_last_move.address = NULL;
    check(!mtrace_move(parcel.block, UINT32_MAX) && !mtrace_move(parcel.block, 1000000)
              && !mtrace_move(NULL, g_owners[1]),
          "to nobody");
    move_to(&parcel, 2); /* there it is */
    check(mtrace_move(before, g_owners[2]), "of what nobody knows");
    check(mtrace_move(&heard, g_owners[2]), "of no block");
    pool = mtrace_pool_create("pool");
    mtrace_pool_alloc(pool, (char *)parcel.block + 64, 100);
    check(mtrace_move((char *)parcel.block + 64, g_owners[1]), "of a pool's");
    check(g_last_move.address == NULL && mtrace_counters().unreported == 0, "a move that is none");
    giver = mtrace_tracker_add(give_away, NULL, MTRACE_EVENT_ALLOC);
    allocate_parcel(&given, 1, 50);
    check(g_last_move.address == NULL && mtrace_counters().unreported == 1, "moved in a callback");
    check(mtrace_group_of(given.block) == g_owners[3], "its group");
    mtrace_tracker_remove(giver);
    check(mtrace_tracker_remove(other), "removed");
    check(others.allocs == 5 && others.frees == 2 && others.resizes == 0, "who asks for no moves");
    check(mtrace_tracker_remove(handle), "removed");
    book_unreported(g_own_books);
    book_unreported(heard);
    check_books(heard);
    expect("unknown_moves", 2);
    expect("bad_handles", 2);
}

static pthread_barrier_t g_all_there;

/* Reported in one group, which all threads have entered. */
static void *live_with_all(void *number)
{
    char name[32];
    struct mtrace_scope scope;
    void *block;

    snprintf(name, sizeof(name), "thread %u", (unsigned)(uintptr_t)number);
    scope = mtrace_enter(mtrace_group_register(name, NULL, 0));
    block = own_malloc(1);
    pthread_barrier_wait(&g_all_there);
    own_free(block, 1);
    mtrace_exit(scope);
    return NULL;
}

/* 10,000 threads in parallel, each in a scope, with known ids. */
static void at_once(void)
{
    static pthread_t threads[N_AT_ONCE];
    struct heard heard = {0};
    int handle = mtrace_tracker_add(hear, &heard, ALL);
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_barrier_init(&g_all_there, NULL, N_AT_ONCE);
    for (uintptr_t i = 0; i < N_AT_ONCE; i++)
        if (pthread_create(&threads[i], &attributes, live_with_all, (void *)i) != 0)
            skip("so many threads are not allowed here");
    for (unsigned i = 0; i < N_AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    check(mtrace_tracker_remove(handle), "removed");
    check_counts(&heard, N_AT_ONCE, N_AT_ONCE, 0);
    check(mtrace_counters().groups >= N_AT_ONCE && mtrace_counters().refused_groups == 0, "groups");
    check(mtrace_counters().stale_exits == 0 && mtrace_counters().unreported == 0, "unreported");
    expect_own();
}

int main(int argc, char **argv)
{
    static const struct workload_part parts[] = {
        {"sizes", sizes},   {"groups", groups},
        {"nested", nested}, {"unreported", unreported},
        {"silent", silent}, {"replaced", replaced},
        {"late", late},     {"never_returns", never_returns},
        {"crowd", crowd},   {"at_once", at_once},
        {"moves", moves},   {"moves_of_a_crowd", moves_of_a_crowd}};
    int status = RUN_PART(parts, argc > 1 ? argv[1] : NULL);

    expect("wrong_answers", g_n_wrong);
    return g_n_wrong ? 1 : status;
}
