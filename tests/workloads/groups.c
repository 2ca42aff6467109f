/* SPDX-License-Identifier: MIT */
/*
 * groups: parts of the check list of groups, by the name in argv[1]. The program counts what is
 * charged to each group by name, and the test compares that with the database.
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum {
    N_IDS = 1000,
    N_SWITCHES = 200000,
    A_MILLION = 1000000,
    PHASES_KEPT = 1024, /* that are open at the same time, as in mtrace.h */
    PHASES_TOO_MANY = 76,
};

/* One block, charged to the current group; kept. */
static void *block(unsigned n)
{
    return own_malloc(n);
}

/* T1: ids begin after the root, are never reused, and root and untracked have fixed ones. */
static void ids(void)
{
    uint32_t last = MTRACE_GROUP_ROOT;
    bool is_present = mtrace_present();
    unsigned n_wrong = 0;

    for (unsigned i = 0; i < N_IDS; i++) {
        uint32_t id = mtrace_group_register("many", NULL, 0);
        n_wrong += is_present ? id <= last : id != MTRACE_GROUP_ROOT;
        last = id;
    }
    n_wrong += mtrace_group_intern("one", NULL, 0) != mtrace_group_intern("one", NULL, 0);
    n_wrong += mtrace_group_intern("one", NULL, 2) != mtrace_group_intern("one", NULL, 0); /* bad */
    n_wrong += mtrace_current_group() != MTRACE_GROUP_ROOT;
    {
        MTRACE_SCOPE(last);
        n_wrong += mtrace_current_group() != last;
        block(1);
    }
    block(2);
    expect("wrong_answers", n_wrong);
    expect("bad_handles", 1);
    expect("groups_named.many", N_IDS);
    expect("groups_named.one", 1);
    expect("group_bytes.many", OWN_BYTES(1));
    expect("group_bytes.root", OWN_BYTES(2));
}

/* T2 */
static void nested(void)
{
    uint32_t outer = mtrace_group_intern("outer", NULL, 0);
    uint32_t inner = mtrace_group_intern("inner", NULL, 0);
    struct mtrace_scope a = mtrace_enter(outer);
    struct mtrace_scope b;
    struct mtrace_scope again;

    block(1);
    b = mtrace_enter(inner);
    block(10);
    again = mtrace_enter(inner);
    block(20);
    mtrace_exit(again);
    block(30);
    mtrace_exit(b);
    block(2);
    mtrace_exit(a);
    block(3);
    expect("group_bytes.outer", OWN_BYTES(1) + OWN_BYTES(2));
    expect("group_bytes.inner", OWN_BYTES(10) + OWN_BYTES(20) + OWN_BYTES(30));
    expect("group_bytes.root", OWN_BYTES(3));
}

static void *exit_scope_of_another(void *argument)
{
    struct mtrace_scope own = mtrace_enter(mtrace_group_intern("thread", NULL, 0));

    mtrace_exit(*(const struct mtrace_scope *)argument);
    block(4);
    mtrace_exit(own);
    return NULL;
}

/* T3: scopes that were ended, belong to another thread, or were left by longjmp. */
static void stale(void)
{
    static jmp_buf back;
    uint32_t outer = mtrace_group_intern("outer", NULL, 0);
    uint32_t inner = mtrace_group_intern("inner", NULL, 0);
    struct mtrace_scope a = mtrace_enter(outer);
    struct mtrace_scope b = mtrace_enter(inner);
    struct mtrace_scope c;
    pthread_t thread;

    mtrace_exit(b);
    mtrace_exit(b); /* stale 1 */
    block(1);
    c = mtrace_enter(inner);
    mtrace_exit(b); /* stale 2: c replaced it */
    block(10);
    pthread_create(&thread, NULL, exit_scope_of_another, &c); /* stale 3 */
    pthread_join(thread, NULL);
    block(20);
    if (setjmp(back) == 0) {
        mtrace_enter(outer);
        mtrace_enter(inner);
        longjmp(back, 1);
    }
    mtrace_exit(c); /* and those that longjmp left */
    block(2);
    mtrace_exit(a);
    mtrace_exit(c);            /* stale 4 */
    mtrace_enter(4000000000u); /* a bad handle: as the root */
    block(3);
    a = mtrace_phase_begin("goes on");
    for (unsigned i = 0; i < 20; i++)
        mtrace_phase_end(mtrace_enter(
            MTRACE_GROUP_ROOT)); /* stale 5 to 24: none of these numbers ends a phase */
    mtrace_exit(a);              /* stale 25 */
    block(5);
    expect("group_bytes.outer", OWN_BYTES(1) + OWN_BYTES(2));
    expect("group_bytes.inner", OWN_BYTES(10) + OWN_BYTES(20));
    expect("group_bytes.thread", OWN_BYTES(4));
    expect("group_bytes.root", OWN_BYTES(3) + OWN_BYTES(5));
    expect("stale_exits", 4 + 20 + 1);
    expect("open_phases", 1);
    expect("bad_handles", 1);
}

/* T4: tags are copied, and the same key and value is one tag in all groups. */
static void tags(void)
{
    char tenant[16] = "acme";
    struct mtrace_tag both[] = {{"tenant", tenant}, {"kind", "read"}};
    struct mtrace_tag one[] = {{"tenant", "acme"}, {"empty", ""}, {"tenant", "acme"}};
    struct mtrace_tag odd[] = {{"k, e=y", "v\"a'l%u\xc3\xa9"}};
    uint32_t a = mtrace_group_register("request", both, 2);
    uint32_t b;

    strcpy(tenant, "other");
    b = mtrace_group_intern("session", one, 3);
    {
        MTRACE_SCOPE(a);
        block(1);
    }
    {
        MTRACE_SCOPE(b);
        block(2);
    }
    {
        MTRACE_SCOPE(mtrace_group_register("odd", odd, 1));
        block(3);
    }
    expect("tag_bytes.tenant=acme", OWN_BYTES(1) + OWN_BYTES(2));
    expect("tag_bytes.kind=read", OWN_BYTES(1));
    expect("tag_bytes.empty=", OWN_BYTES(2));
    expect("odd_tags", 1);
    expect("tags", 4);
}

/* T5 and T6: requested and usable bytes, by group of allocation and of free. */
static void ends_elsewhere(void)
{
    uint32_t maker = mtrace_group_intern("maker", NULL, 0);
    uint32_t taker = mtrace_group_intern("taker", NULL, 0);
    struct mtrace_scope scope = mtrace_enter(maker);
    void *kept = block(1);
    void *given = block(2);
    void *grown = block(3);
    void *moved = block(4);

    own_free(kept, 1);
    mtrace_move(moved, taker);
    mtrace_exit(scope);
    scope = mtrace_enter(taker);
    own_free(given, 2);
    own_count_free(OWN_BYTES(3));
    grown = keep(realloc(grown, OWN_BYTES(30)));
    own_count_alloc(OWN_BYTES(30));
    own_free(moved, 4);
    mtrace_exit(scope);
    expect("group_bytes.maker", OWN_BYTES(1) + OWN_BYTES(2) + OWN_BYTES(3));
    expect("group_bytes.taker", OWN_BYTES(30) + OWN_BYTES(4)); /* the last owner */
    expect("freed_in.maker", OWN_BYTES(1));
    expect("freed_in.taker", OWN_BYTES(2) + OWN_BYTES(3) + OWN_BYTES(4));
    expect("freed_elsewhere.maker", OWN_BYTES(2) + OWN_BYTES(3));
    expect("freed_elsewhere.taker", 0);
    expect("moved_out.maker", OWN_BYTES(4));
    expect("group_peak.maker", OWN_BYTES(1) + OWN_BYTES(2) + OWN_BYTES(3) + OWN_BYTES(4));
    expect("usable_is_known", 1);
}

/* T8: untracked, and still counted. */
static void untracked(void)
{
    uint32_t group = mtrace_group_intern("group", NULL, 0);
    struct mtrace_scope scope = mtrace_enter(group);
    struct mtrace_scope off = mtrace_enter(MTRACE_GROUP_UNTRACKED);
    void *freed_outside = block(10);
    void *freed_inside = block(20);

    own_free(freed_inside, 20);
    mtrace_exit(off);
    own_free(freed_outside, 10);
    block(1);
    mtrace_exit(scope);
    expect("group_bytes.group", OWN_BYTES(1));
    expect("group_bytes.untracked", OWN_BYTES(10) + OWN_BYTES(20));
    expect("freed_in.untracked", OWN_BYTES(20));
}

/* T9: off and on again; blocks freed while it is off do not stay live, and resized ones keep their
 * group. */
static void switching(void)
{
    uint32_t group = mtrace_group_intern("group", NULL, 0);
    struct mtrace_scope scope = mtrace_enter(group);
    void *across = malloc(OWN_BYTES(1));
    void *resized = malloc(OWN_BYTES(3));
    void *unseen;
    bool is_present = mtrace_present();
    unsigned n_wrong = mtrace_is_tracking() != is_present;

    mtrace_tracking(false);
    n_wrong += mtrace_is_tracking();
    unseen = realloc(keep(malloc(OWN_BYTES(100))), OWN_BYTES(200));
    free(keep(across));
    resized = realloc(keep(resized), OWN_BYTES(30));
    mtrace_tracking(true);
    n_wrong += mtrace_is_tracking() != is_present;
    free(keep(unseen));
    keep(malloc(OWN_BYTES(2)));
    keep(resized);
    mtrace_exit(scope);
    expect("wrong_answers", n_wrong);
    expect("group_bytes.group", OWN_BYTES(1) + OWN_BYTES(2) + OWN_BYTES(3) + OWN_BYTES(30));
    expect("group_leaked.group", OWN_BYTES(2) + OWN_BYTES(30));
    expect("untracked_frees", 2); /* also the realloc of a block that was not recorded */
}

static void *adopt(void *argument)
{
    const struct mtrace_context *context = argument;
    struct mtrace_scope scope;

    block(1); /* the root's */
    scope = mtrace_context_adopt(*context);
    block(10);
    mtrace_exit(scope);
    block(2);
    return NULL;
}

static void *inherit(void *argument)
{
    struct mtrace_scope scope;

    (void)argument;
    block(20); /* the creator's */
    scope = mtrace_enter(mtrace_group_intern("inner", NULL, 0));
    block(3);
    mtrace_exit(scope);
    block(30);
    return NULL;
}

/* T11: a group continues in another thread, by a context or because threads inherit, and in a
 * child. */
static void handed_over(void)
{
    uint32_t group = mtrace_group_intern("request", NULL, 0);
    struct mtrace_scope scope = mtrace_enter(group);
    struct mtrace_context context = mtrace_context_capture();
    pthread_t thread;
    pid_t child;

    pthread_create(&thread, NULL, adopt, &context);
    pthread_join(thread, NULL);
    mtrace_inherit_groups(true);
    pthread_create(&thread, NULL, inherit, NULL);
    pthread_join(thread, NULL);
    mtrace_inherit_groups(false);
    child = fork();
    if (child == 0) {
        keep(malloc(3777));
        mtrace_exit(scope);
        keep(malloc(5777));
        {
            MTRACE_SCOPE(mtrace_group_intern("request", NULL, 0));
            keep(malloc(3777));
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    mtrace_exit(scope);
    expect("group_bytes.request", OWN_BYTES(10) + OWN_BYTES(20) + OWN_BYTES(30));
    expect("group_bytes.inner", OWN_BYTES(3));
    expect("group_bytes.root", OWN_BYTES(1) + OWN_BYTES(2));
    expect("child_group_bytes", 2 * 3777);
    expect("groups_named.request", 1); /* the child's is the parent's */
}

static pthread_key_t g_key;
static uint32_t g_late_group;

static void allocate_late(void *value)
{
    struct mtrace_scope scope = mtrace_enter(g_late_group);

    block((unsigned)(uintptr_t)value);
    mtrace_exit(scope);
    if ((uintptr_t)value < 5) /* one for each round that glibc makes, and one more */
        pthread_setspecific(g_key, (void *)((uintptr_t)value + 1));
}

static void *end_with_destructors(void *argument)
{
    pthread_setspecific(g_key, argument);
    return NULL;
}

static void at_exit(void)
{
    struct mtrace_scope scope = mtrace_enter(g_late_group);

    keep(malloc(OWN_BYTES(50)));
    mtrace_exit(scope);
}

static void in_handler(int number)
{
    struct mtrace_scope scope = mtrace_enter(g_late_group);

    (void)number;
    own_free(block(60), 60);
    mtrace_exit(scope);
}

/* T12: in destructors of thread-specific data, in handlers of signals, and after main. */
static void late(void)
{
    struct sigaction action = {.sa_handler = in_handler};
    pthread_t thread;

    g_late_group = mtrace_group_intern("late", NULL, 0);
    pthread_key_create(&g_key, allocate_late);
    pthread_create(&thread, NULL, end_with_destructors, (void *)1);
    pthread_join(thread, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    block(7);
    atexit(at_exit);
    expect("group_bytes.late", OWN_BYTES(1) + OWN_BYTES(2) + OWN_BYTES(3) + OWN_BYTES(4)
                                   + OWN_BYTES(50) + OWN_BYTES(60));
    expect("group_bytes.root", OWN_BYTES(7));
}

/* Phases, that nest and overlap, one left open; markers. */
static void phases(void)
{
    struct mtrace_scope outer = mtrace_phase_begin("load");
    struct mtrace_scope inner;
    struct mtrace_scope other;
    void *freed;

    block(1);
    inner = mtrace_phase_begin("parse");
    freed = block(10);
    other = mtrace_phase_begin("index");
    block(20);
    mtrace_phase_end(inner);
    block(30);
    mtrace_phase_end(inner); /* ended already */
    own_free(freed, 10);
    mtrace_phase_end(other);
    mtrace_phase_end(outer);
    mtrace_marker("loaded");
    block(2);
    mtrace_phase_begin("serve");
    block(40);
    expect("phase_bytes.load", OWN_BYTES(1) + OWN_BYTES(10) + OWN_BYTES(20) + OWN_BYTES(30));
    expect("phase_bytes.parse", OWN_BYTES(10) + OWN_BYTES(20));
    expect("phase_bytes.index", OWN_BYTES(20) + OWN_BYTES(30));
    expect("phase_bytes.serve", OWN_BYTES(40));
    expect("phase_freed.load", OWN_BYTES(10));
    expect("phase_leaked.load", OWN_BYTES(1) + OWN_BYTES(20) + OWN_BYTES(30));
    expect("phase_leaked.parse", OWN_BYTES(20));
    expect("phase_leaked.serve", OWN_BYTES(40));
    expect("phase_growth_at_peak.index", OWN_BYTES(20) + OWN_BYTES(30));
    expect("after_marker.loaded", OWN_BYTES(2) + OWN_BYTES(40));
    expect("open_phases", 1);
    expect("unknown_phase_ends", 1);
}

/* A million group ids are reached by registering; these groups are also entered. */
static void many(void)
{
    uint32_t ids[64];
    struct mtrace_tag tag = {"number", "x"};
    char text[16];

    for (unsigned i = 0; i < 64; i++) {
        snprintf(text, sizeof(text), "%u", i);
        tag.value = text;
        ids[i] = mtrace_group_register("switched", &tag, 1);
    }
    for (unsigned i = 0; i < N_SWITCHES; i++) {
        struct mtrace_scope scope = mtrace_enter(ids[i % 64]);
        void *freed = own_malloc(0);
        mtrace_exit(scope);
        own_free(freed, 0);
    }
    expect("group_bytes.switched", N_SWITCHES * OWN_BYTES(0));
    expect("freed_in.root", N_SWITCHES * OWN_BYTES(0));
    expect("tag_bytes.number=63", N_SWITCHES / 64 * OWN_BYTES(0));
}

/* More groups than any table of 2^16 entries holds, each entered and left; the last ones are found
 * by their tags. */
static void a_million(void)
{
    struct mtrace_tag tag = {"number", NULL};
    char text[16];

    for (unsigned i = 1; i <= A_MILLION; i++) {
        struct mtrace_scope scope;
        snprintf(text, sizeof(text), "%u", i);
        tag.value = text;
        scope = mtrace_enter(mtrace_group_register("of_a_million", &tag, 1));
        if (i % 1000 == 0)
            block(i / 100000);
        mtrace_exit(scope);
    }
    block(20);
    expect("groups_named.of_a_million", A_MILLION);
    expect("tag_bytes.number=1000", OWN_BYTES(0));
    expect("tag_bytes.number=500000", OWN_BYTES(5));
    expect("tag_bytes.number=1000000", OWN_BYTES(10));
    expect("refused_groups", 0);
    expect_own();
}

/* Phases nested deeper than the limit: the outermost are kept, the others are counted, and so are
 * their ends. */
static void deep_phases(void)
{
    static struct mtrace_scope all[PHASES_KEPT + PHASES_TOO_MANY];
    char name[16];

    for (unsigned i = 0; i < PHASES_KEPT + PHASES_TOO_MANY; i++) {
        snprintf(name, sizeof(name), "at_%u", i);
        all[i] = mtrace_phase_begin(name);
        block(i % 2);
    }
    for (unsigned i = PHASES_KEPT + PHASES_TOO_MANY; i-- > 0;)
        mtrace_phase_end(all[i]);
    block(2);
    all[0] = mtrace_phase_begin("again");
    block(3);
    mtrace_phase_end(all[0]);
    expect("phases", PHASES_KEPT + 1);
    expect("open_phases", 0);
    expect("deepest_phase", PHASES_KEPT);
    expect("unknown_phase_ends",
           2 * PHASES_TOO_MANY); /* begins that are not kept, and their ends */
    expect("phase_bytes.at_0", (PHASES_KEPT + PHASES_TOO_MANY) / 2 * (OWN_BYTES(0) + OWN_BYTES(1)));
    expect("phase_bytes.at_1023",
           PHASES_TOO_MANY / 2 * (OWN_BYTES(0) + OWN_BYTES(1)) + OWN_BYTES(1));
    expect("phase_bytes.again", OWN_BYTES(3));
}

enum {
    N_CROWD = 1000,
    N_AT_ONCE = 100,
    N_DEEP = 600, /* more scopes than fit beside the thread, and in its first page */
};

static void *nest(void *unused)
{
    uint32_t group = mtrace_group_intern("crowd", NULL, 0);
    struct mtrace_scope outermost = mtrace_enter(MTRACE_GROUP_UNTRACKED);

    for (unsigned i = 0; i < N_DEEP; i++)
        mtrace_enter(group);
    own_free(block(0), 0);
    mtrace_exit(outermost);
    return unused;
}

/* Many threads, each deep in scopes that it leaves open. */
static void crowd(void)
{
    pthread_t threads[N_AT_ONCE];

    for (unsigned round = 0; round < N_CROWD / N_AT_ONCE; round++) {
        for (unsigned i = 0; i < N_AT_ONCE; i++)
            pthread_create(&threads[i], NULL, nest, NULL);
        for (unsigned i = 0; i < N_AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    expect("group_bytes.crowd", N_CROWD * OWN_BYTES(0));
    expect("freed_in.crowd", N_CROWD * OWN_BYTES(0));
    expect("groups_named.crowd", 1);
}

/* Declarations as in programs that were written for bytehound. */
void memory_profiler_start(void) __attribute__((weak));
void memory_profiler_stop(void) __attribute__((weak));
void memory_profiler_sync(void) __attribute__((weak));
void memory_profiler_set_marker(uint32_t value) __attribute__((weak));
void memory_profiler_override_next_timestamp(uint64_t timestamp_us) __attribute__((weak));

static void bytehound(void)
{
    void *across = block(1);

    if (memory_profiler_stop)
        memory_profiler_stop();
    keep(malloc(OWN_BYTES(100))); /* not recorded */
    own_free(across, 1);
    if (memory_profiler_start)
        memory_profiler_start();
    if (memory_profiler_set_marker)
        memory_profiler_set_marker(42);
    if (memory_profiler_override_next_timestamp)
        memory_profiler_override_next_timestamp(1);
    if (memory_profiler_sync)
        memory_profiler_sync();
    block(2);
    expect_own();
    expect("after_marker.42", OWN_BYTES(2));
    expect("messages", 1);
}

int main(int argc, char **argv)
{
    static const struct workload_part parts[] = {{"ids", ids},
                                                 {"nested", nested},
                                                 {"stale", stale},
                                                 {"tags", tags},
                                                 {"ends", ends_elsewhere},
                                                 {"untracked", untracked},
                                                 {"switching", switching},
                                                 {"handed_over", handed_over},
                                                 {"late", late},
                                                 {"phases", phases},
                                                 {"many", many},
                                                 {"a_million", a_million},
                                                 {"deep_phases", deep_phases},
                                                 {"crowd", crowd},
                                                 {"bytehound", bytehound}};

    return RUN_PART(parts, argc > 1 ? argv[1] : NULL);
}
