/* SPDX-License-Identifier: MIT */
/*
 * stepped WHAT DOES [STRIDE]: a signal comes at the first instruction of the collector in a call,
 * then at the second one, and so on to the last. DOES is the action of its handler:
 *
 *   leave     leaves by siglongjmp, from some frames further in
 *   allocate  allocates, and returns
 *   fork      forks; parent and child return, and the child continues the interrupted code
 *
 * WHAT is called: same (one place, which is known), again (the same after an abandoned call),
 * elsewhere (a new place each time, so that everything about it is looked up), first (the first
 * call of a new thread), last (its last one, too), dead (a call of a thread after the last round of
 * its keys' destructors), charged (after a change of group), heap (calls that do not fail),
 * reported (calls and a move that a tracker receives), named (new texts, and wrong calls).
 *
 * Calls that fail are identified by their kind: malloc is the interrupted one, reallocarray that of
 * the handler, aligned_alloc one after each, and calloc those at the end.
 */
#include "include/mtrace.h"
#include "tests/workloads/stepper.h"
#include "tests/workloads/workload.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

enum {
    N_PLACES = 32768,
    N_AFTER = 100,
    FURTHER = 20,
    MAX_POINTS = 30000, /* where nothing is optimized half as many */
    MAX_THREADS = MAX_POINTS + 2,
    STACK_BYTES = 64 * 1024,
    N_KEY_ROUNDS = 4, /* of destructors, of glibc */
};

/* Calls function from one of N_PLACES places. */
void call_at_place(size_t place, void (*function)(void));
__asm__(".text\n"
        ".type call_at_place, @function\n"
        "call_at_place:\n"
        ".cfi_startproc\n"
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "leaq places(%rip), %rax\n"
        "leaq (%rax,%rdi,8), %rax\n"
        "jmp *%rax\n"
        ".balign 8\n"
        "places:\n"
        ".rept 32768\n"
        "call *%rsi\n"
        ".byte 0xe9\n"
        ".long leave_place - . - 4\n"
        "nop\n"
        ".endr\n"
        "leave_place:\n"
        "addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size call_at_place, . - call_at_place\n");

static _Thread_local sigjmp_buf outside;

static enum {
    LEAVE,
    ALLOCATE,
    FORK
} does;

static volatile bool is_child;
static volatile unsigned n_handled, n_failed;
static uint32_t group, outer_group;
static void *volatile block;

__attribute__((noinline)) static void fail(void)
{
    if (keep(malloc(SIZE_MAX)) != NULL)
        abort();
    n_failed++;
}

__attribute__((noinline)) static void fail_behind(void)
{
    if (keep(aligned_alloc(64, SIZE_MAX - 4096)) != NULL)
        abort();
}

__attribute__((noinline)) static void fail_at_end(void)
{
    if (keep(calloc(SIZE_MAX, 1)) != NULL)
        abort();
}

__attribute__((noinline)) static void fork_here(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        is_child = true;
    else if (waitpid(child, &status, 0) != child || status != 0)
        abort();
}

static void on_signal(int number)
{
    (void)number;
    n_handled++;
    if (does == LEAVE)
        siglongjmp(outside, 1);
    if (keep(reallocarray(NULL, SIZE_MAX, 2)) != NULL)
        abort();
    if (does == FORK)
        fork_here();
}

/* ---- what is interrupted ---- */

static void use_heap(void)
{
    block = NULL;
    block = malloc(OWN_BYTES(1));
    block = realloc(block, OWN_BYTES(5));
    free(block);
}

static void charge(void)
{
    struct mtrace_scope scope = mtrace_enter(group);

    fail();
    mtrace_exit(scope);
}

/* Counts of a tracker by group, of blocks of 9777 bytes. */
static volatile int n_reported[8];

static void count_reported(const struct mtrace_event *event, void *unused)
{
    (void)unused;
    if (event->size_bytes != OWN_BYTES(9))
        return;
    if (event->kind != MTRACE_EVENT_FREE)
        n_reported[event->current_group % 8]++;
    if (event->kind != MTRACE_EVENT_ALLOC)
        n_reported[event->group % 8]--;
}

static void receive_reports(void)
{
    block = malloc(OWN_BYTES(9));
    mtrace_move(block, group);
    if (mtrace_present() && does != LEAVE && !is_child && n_reported[group % 8] != 1)
        abort();
    free(block);
}

/* Names that are used here for the first time. */
static void name(void)
{
    static unsigned n_names;
    char text[32];

    (void)snprintf(text, sizeof(text), "name %u", n_names++);
    (void)mtrace_group_register(text, NULL, 0);
    mtrace_marker(text);
    (void)mtrace_pool_create(text);
    mtrace_exit((struct mtrace_scope){1, 100, 1});
    mtrace_pool_free(4000000000u, text);
}

static void (*interrupted)(void) = fail;

__attribute__((noinline)) static void call_deep(unsigned further, size_t place)
{
    if (further > 0) {
        call_deep(further - 1, place);
        keep(&further);
        return;
    }
    call_at_place(place, interrupted);
}

/* Returns whether the signal came. point: NULL: look for points. */
__attribute__((noinline)) static bool interrupt(const struct stepper_point *point, size_t place)
{
    struct mtrace_scope outer = mtrace_enter(outer_group); /* abandoned like all others */
    volatile bool has_fired = true;

    if (sigsetjmp(outside, 1) == 0) {
        if (point != NULL)
            stepper_begin(*point);
        else
            stepper_look();
        call_deep(FURTHER, place);
        if (is_child) {
            use_heap();
            _exit(0);
        }
        has_fired = stepper_end();
    } else {
        stepper_end();
    }
    mtrace_exit(outer);
    return has_fired;
}

/* ---- all instructions ---- */

static struct stepper_point points[MAX_POINTS];
static unsigned n_points;

static void keep_points(void)
{
    n_points = stepper_n_points();
    if (n_points > MAX_POINTS)
        abort();
    for (unsigned i = 0; i < n_points; i++)
        points[i] = stepper_point(i);
}

/* At a known place, or each time at another one. */
static void interrupt_each(bool is_elsewhere)
{
    size_t place = 0;

    call_deep(FURTHER, 0);
    interrupt(NULL, is_elsewhere ? ++place : 0);
    keep_points();
    for (unsigned i = 0; i < n_points; i++) {
        if (interrupt(&points[i], is_elsewhere ? ++place % N_PLACES : 0))
            fail_behind();
        if (!is_elsewhere)
            call_deep(FURTHER, 0);
    }
}

/* The call finds that the one before it was abandoned after its entry. */
static void interrupt_again(void)
{
    struct stepper_point inside;

    call_deep(FURTHER, 0);
    interrupt(NULL, 0);
    inside = stepper_point(stepper_n_points() / 2);
    interrupt(&inside, 0);
    interrupt(NULL, 0);
    keep_points();
    for (unsigned i = 0; i < n_points; i++) {
        interrupt(&inside, 0);
        if (interrupt(&points[i], 0))
            fail_behind();
    }
}

static int gate[2];

struct first_call {
    size_t place;
    const struct stepper_point *point;
    _Atomic bool is_done;
};

/* Threads that end after all have begun leave nothing to the next one, the others all they have. */
static bool stays;

static void *be_new(void *argument)
{
    struct first_call *call = argument;
    bool has_fired = interrupt(call->point, call->place);
    char byte;

    if (has_fired && stays)
        call_at_place(N_PLACES - call->place, fail_behind);
    call->is_done = true;
    while (stays && read(gate[0], &byte, 1) != 0)
        continue;
    return NULL;
}

static void *be_behind(void *argument)
{
    struct first_call *call = argument;

    call_at_place(N_PLACES - call->place, fail_behind);
    fail_behind();
    return NULL;
}

static pthread_t begin_thread(void *(*function)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, function, argument) != 0)
        abort();
    pthread_attr_destroy(&attributes);
    return thread;
}

static void interrupt_new_thread(struct first_call *call, pthread_t *ret_thread)
{
    *ret_thread = begin_thread(be_new, call);
    while (stays && !call->is_done)
        usleep(100);
    if (stays)
        return;
    pthread_join(*ret_thread, NULL);
    pthread_join(begin_thread(be_behind, call), NULL);
}

/* The points come from the second one: not everything is new there. */
static void interrupt_new_threads(unsigned stride)
{
    static pthread_t threads[MAX_THREADS];
    static struct first_call calls[MAX_THREADS];
    unsigned n = 0;

    if (pipe(gate) != 0)
        abort();
    for (unsigned i = 0; i < 2 || (i - 2) * stride < n_points; i++, n++) {
        calls[i].place = i + 1;
        calls[i].point = i < 2 ? NULL : &points[(i - 2) * stride];
        interrupt_new_thread(&calls[i], &threads[i]);
        if (i < 2)
            keep_points();
    }
    close(gate[1]);
    for (unsigned i = 0; stays && i < n; i++)
        pthread_join(threads[i], NULL);
}

/* ---- threads that ended ---- */

static pthread_key_t key;

struct dying {
    const struct stepper_point *point;
    unsigned n_rounds;
};

/* The workload's destructor runs after the collector's in each round. */
static void die(void *argument)
{
    struct dying *dying = argument;

    if (++dying->n_rounds < N_KEY_ROUNDS)
        pthread_setspecific(key, dying);
    else
        interrupt(dying->point, 0);
}

static void *be_dying(void *argument)
{
    free(keep(malloc(OWN_BYTES(7)))); /* one that was never seen does not end */
    pthread_setspecific(key, argument);
    return NULL;
}

static void interrupt_dead_threads(void)
{
    struct dying dying = {.point = NULL};

    if (pthread_key_create(&key, die) != 0)
        abort();
    pthread_join(begin_thread(be_dying, &dying), NULL);
    keep_points();
    for (unsigned i = 0; i < n_points; i++) {
        dying = (struct dying){.point = &points[i]};
        pthread_join(begin_thread(be_dying, &dying), NULL);
    }
    fail_behind();
}

static void expect_nothing_left(void)
{
    for (unsigned i = 0; i < N_AFTER; i++) {
        fail_at_end();
        keep(malloc(OWN_BYTES(3)));
    }
    free(keep(memalign(64, OWN_BYTES(n_failed))));
    free(keep(memalign(128, OWN_BYTES(n_handled))));
    expect("whole_after", N_AFTER);
    expect("whole_behind", 1);
    expect("at_root_after", N_AFTER);
    expect("all_that_failed", 1);
    if (does == LEAVE)
        return;
    expect("all_handled", 1);
    expect("heap_kept", 0);
    for (unsigned i = 0; i < 8; i++)
        if (n_reported[i] != 0)
            abort();
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    const char *what = argc > 2 ? argv[1] : "same";
    const char *how = argc > 2 ? argv[2] : "leave";

    does = strcmp(how, "allocate") == 0 ? ALLOCATE : strcmp(how, "fork") == 0 ? FORK : LEAVE;
    group = mtrace_group_register("charged", NULL, 0);
    outer_group = mtrace_group_register("outer", NULL, 0);
    sigaction(SIGUSR1, &action, NULL);
    if (!stepper_start())
        skip("no process may trace another here");
    if (strcmp(what, "heap") == 0)
        interrupted = use_heap;
    if (strcmp(what, "charged") == 0)
        interrupted = charge;
    if (strcmp(what, "named") == 0)
        interrupted = name;
    if (strcmp(what, "reported") == 0) {
        mtrace_tracker_add(count_reported, NULL,
                           MTRACE_EVENT_ALLOC | MTRACE_EVENT_FREE | MTRACE_EVENT_MOVE);
        interrupted = receive_reports;
    }
    stays = strcmp(what, "first") == 0;
    if (stays || strcmp(what, "last") == 0)
        interrupt_new_threads(argc > 3 ? (unsigned)atoi(argv[3]) : 1);
    else if (strcmp(what, "dead") == 0)
        interrupt_dead_threads();
    else if (strcmp(what, "again") == 0)
        interrupt_again();
    else
        interrupt_each(strcmp(what, "elsewhere") == 0);
    stepper_stop();
    if (getenv("STEPPED_SAY"))
        fprintf(stderr, "%u of %u handled\n", n_handled, n_points);
    expect_nothing_left();
    return 0;
}
