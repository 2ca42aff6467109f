/* SPDX-License-Identifier: MIT */
/*
 * heap_image WHAT: blocks whose reachability is known by their sizes (tests/e2e/heap_image.py).
 *
 *   planted  each way to hold or lose a block; takes the image "here", then exits inside of main
 *   asking   takes images until one fails, while other threads work; says what they counted
 *   waiting [MIB]  waits for a line on standard input, allocates, waits for another one, then exits
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#define APART __attribute__((noinline))

enum {
    N_THREADS = 3,
    N_DEAD = 20, /* blocks of a thread that has ended */
};

struct node {
    struct node *next, *other;
};

static struct node *volatile g_global;
static char *volatile g_interior;
static __thread void *volatile t_local;
static struct node *volatile *volatile g_mapping;
static void *volatile g_for_register;
static _Atomic bool g_has_registers, g_is_over;
static _Atomic unsigned long g_n_calls;

static APART void clear_stack(void)
{
    volatile char bytes[16384];

    memset((void *)(uintptr_t)bytes, 0, sizeof(bytes));
}

static struct node *clear(void *block, size_t size_bytes)
{
    memset(keep(block), 0, size_bytes);
    return block;
}

/* A macro, so that the caller is the call site. */
#define make(size_bytes) clear(malloc(size_bytes), size_bytes)

static APART void lose(void)
{
    struct node *first = make(1002);
    struct node *freed = make(5000);

    keep(make(1001));
    for (int i = 0; i < 4; i++) { /* a list of five */
        struct node *next = first;
        first = make(1002);
        first->next = next;
    }
    first = make(1003); /* a cycle of three */
    first->next = make(1003);
    first->next->next = make(1003);
    first->next->next->next = first;
    freed[20].next = make(1012);
    keep(first);
    free(freed); /* its contents stay */
}

static APART void hold(void)
{
    g_global = make(1004);
    g_global->other = make(1005);
    g_interior = (char *)make(1007) + 200;
    t_local = make(1008);
    g_mapping = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_mapping[4000] = make(1009);
}

static void *leave_stale(void *unused)
{
    void *volatile blocks[N_DEAD];

    (void)unused;
    for (int i = 0; i < N_DEAD; i++)
        blocks[i] = make(1011);
    return blocks[0] == blocks[1] ? (void *)(uintptr_t)&g_global : NULL;
}

#if defined(__x86_64__)
/* Only r12 has the address, and the thread makes no system call. */
static void *hold_in_register(void *unused)
{
    clear_stack();
    __asm__ volatile("mov %0, %%r12\n\tmovq $0, %0\n\tmovb $1, %1\n"
                     "1:\tpause\n\tcmpb $0, %2\n\tje 1b\n\txor %%r12, %%r12\n"
                     : "+m"(g_for_register), "=m"(g_has_registers)
                     : "m"(g_is_over)
                     : "r12", "memory");
    return unused;
}
#else
static void *hold_in_register(void *unused)
{
    g_has_registers = true;
    return unused;
}
#endif

static void say(const char *what, long value)
{
    char line[80];
    int n = snprintf(line, sizeof(line), "%s %ld\n", what, value);

    (void)write(STDOUT_FILENO, line, (size_t)n);
}

static APART void plant(void)
{
    void *volatile on_stack = make(1006);
    pthread_t thread;

    pthread_create(&thread, NULL, leave_stale, NULL);
    pthread_join(thread, NULL);
    g_for_register = make(1010);
    pthread_create(&thread, NULL, hold_in_register, NULL);
    while (!g_has_registers)
        ;
    hold();
    lose();
    clear_stack();
    say("image", mtrace_heap_image("here"));
    g_is_over = true;
    pthread_join(thread, NULL);
    on_stack = on_stack ? on_stack : &thread;
    exit(7);
}

static void *work(void *unused)
{
    int set = epoll_create1(0);
    struct epoll_event event;

    while (!g_is_over) {
        free(keep(malloc(100)));
        if (epoll_wait(set, &event, 1, 1) < 0)
            say("epoll_wait", errno);
        g_n_calls++;
    }
    (void)close(set);
    return unused;
}

static void ask(void)
{
    pthread_t threads[N_THREADS];
    int n_images = 0;

    hold();
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    while (n_images < 400 && mtrace_heap_image("asked") == 0)
        n_images++;
    g_is_over = true;
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    say("images", n_images);
    say("calls", g_n_calls > 0);
    exit(7);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "planted") == 0)
        plant();
    if (argc > 1 && strcmp(argv[1], "asking") == 0)
        ask();
    hold();
    say("waiting", 0);
    if (getchar() == EOF)
        return 1;
    if (argc > 2)
        memset(keep(malloc((size_t)atol(argv[2]) << 20)), 1, (size_t)atol(argv[2]) << 20);
    g_global->next = make(1013);
    keep(make(1014));
    clear_stack();
    return getchar() == EOF;
}
