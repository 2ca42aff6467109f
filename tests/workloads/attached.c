/* SPDX-License-Identifier: MIT */
/*
 * attached CASE [LIBRARY...]: behaviour that mtrace-record --attach must not change. Runs forever,
 * and prints "wrong: …" if it was changed.
 *
 * epoll, poll, nanosleep  waits of a second, which must end neither early nor by EINTR, and which
 *                         leave no message of dlerror
 * writable                has made pages writable that ld.so protects
 * vfork                   the first thread waits for vfork children, which take three seconds
 * alarmed                 reads from an empty pipe, which alarms end
 * registers               counts in a register and in memory
 * filtered                a thread may not open files, and the first one reads
 * unload                  loads and unloads the libraries, while others allocate
 * unload_by_pointer       the same through a pointer to libc's dlclose from before
 * ends                    is at its end, where it waits forever to write buffered output
 */
#include "tests/workloads/forbid.h"
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum {
    WAIT_MS = 1000,
    CHILD_MS = 3000,
    PAGE = 4096,
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int nap(int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

    return nanosleep(&time, NULL);
}

static int wait_once(const char *how, int epoll)
{
    struct epoll_event event;

    if (strcmp(how, "epoll") == 0)
        return epoll_wait(epoll, &event, 1, WAIT_MS);
    return strcmp(how, "poll") == 0 ? poll(NULL, 0, WAIT_MS) : nap(WAIT_MS);
}

static void wait_again(const char *how)
{
    int epoll = epoll_create1(0);

    for (;;) {
        double begin = now_ms();
        int result = wait_once(how, epoll);
        double took = now_ms() - begin;
        if (result != 0 || took < WAIT_MS - 5)
            printf("wrong: %s: %d, %s, after %.0f ms\n", how, result, strerror(errno), took);
        const char *not_mine = dlerror();
        if (not_mine)
            printf("wrong: dlerror: %s\n", not_mine);
        free(malloc(10));
    }
}

static int make_writable(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = (start + info->dlpi_phdr[i].p_memsz) & ~(uintptr_t)(PAGE - 1);
        start &= ~(uintptr_t)(PAGE - 1);
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO && end > start
            && mprotect((void *)start, end - start, PROT_READ | PROT_WRITE) != 0)
            printf("wrong: mprotect: %s\n", strerror(errno));
    }
    return 1; /* of the program alone */
}

static void *allocate(void *unused)
{
    for (;;) {
        for (int i = 0; i < 100; i++)
            free(malloc(100));
        nap(1);
    }
    return unused;
}

static void wait_for_children(void)
{
    for (;;) {
        pid_t pid = vfork();
        if (pid == 0) {
            nap(CHILD_MS);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        nap(300);
    }
}

static int (*unload)(void *) = NULL;

static void *load_and_unload(void *libraries)
{
    for (;;)
        for (char **library = libraries; *library; library++) {
            void *handle = dlopen(*library, RTLD_NOW | RTLD_LOCAL);
            if (!handle)
                printf("wrong: %s\n", dlerror());
            else if (unload)
                unload(handle);
            else
                dlclose(handle);
        }
    return NULL;
}

static void count(void)
{
    static volatile long in_memory;

    for (long n = 0;; n++, in_memory++) {
        if (n != in_memory)
            printf("wrong: %ld and %ld\n", n, in_memory);
        n = in_memory;
        free(malloc(10));
        nap(2);
    }
}

static volatile sig_atomic_t n_alarms;

static void note_alarm(int number)
{
    (void)number;
    n_alarms++;
}

/* Two seconds later another alarm interrupts the read if the first one did not. */
static void read_alarmed(void)
{
    const struct itimerval time = {{2, 0}, {0, 40000}};
    struct sigaction action = {.sa_handler = note_alarm};
    int ends[2];

    if (pipe(ends) != 0)
        skip("no pipes");
    sigaction(SIGALRM, &action, NULL);
    for (;;) {
        char byte;
        n_alarms = 0;
        setitimer(ITIMER_REAL, &time, NULL);
        if (read(ends[0], &byte, 1) != -1 || errno != EINTR || n_alarms != 1)
            printf("wrong: read: %s, %d alarms\n", strerror(errno), (int)n_alarms);
        free(malloc(10));
    }
}

static void *allocate_filtered(void *unused)
{
    if (!forbid(SYS_openat))
        skip("this kernel has no seccomp filters");
    return allocate(unused);
}

/* The pipe has no reader. */
static void leave_unwritten(void)
{
    int ends[2];
    FILE *stream = pipe(ends) == 0 ? fdopen(ends[1], "w") : NULL;
    int n_bytes = stream ? fcntl(ends[1], F_SETPIPE_SZ, PAGE) : -1;

    if (n_bytes < 0)
        skip("no pipes");
    for (int i = 0; i < n_bytes; i++)
        if (write(ends[1], "x", 1) != 1)
            skip("no full pipes");
    (void)fputs("the last words", stream);
}

static void start(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, argument) != 0)
        skip("no threads");
}

int main(int n_arguments, char **arguments)
{
    const char *what = n_arguments > 1 ? arguments[1] : "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("begun");
    if (strcmp(what, "writable") == 0) {
        dl_iterate_phdr(make_writable, NULL);
        (void)allocate(NULL);
    } else if (strcmp(what, "vfork") == 0) {
        start(allocate, NULL);
        wait_for_children();
    } else if (strcmp(what, "alarmed") == 0) {
        read_alarmed();
    } else if (strcmp(what, "registers") == 0) {
        count();
    } else if (strcmp(what, "filtered") == 0) {
        start(allocate_filtered, NULL);
        (void)getchar();
    } else if (strcmp(what, "ends") == 0) {
        leave_unwritten();
        return 0;
    } else if (strcmp(what, "unload") == 0 || strcmp(what, "unload_by_pointer") == 0) {
        if (strcmp(what, "unload") != 0)
            *(void **)&unload = dlsym(RTLD_DEFAULT, "dlclose");
        start(allocate, NULL);
        start(load_and_unload, arguments + 2);
        (void)allocate(NULL);
    }
    wait_again(what);
}
