/* SPDX-License-Identifier: MIT */
#include "tests/workloads/stepper.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum command {
    NOTHING,
    LOOK,
    BEGIN,
    END
};

enum {
    MAX_POINTS = 1 << 15,
    MAX_CODE_BYTES = 1 << 20,
    OFTEN = 3,
    BREAK_AT_CODE = 1, /* DR7: the address in DR0, when code is run there */
};

/* Shared by the two processes. */
static volatile struct shared {
    enum command command;
    struct stepper_point point;
    bool has_fired;
    int is_traced; /* 1, or negative errno */
    unsigned n_points;
    struct stepper_point points[MAX_POINTS];
} * shared;

static uintptr_t low, high; /* of the collector's code; none without a collector */
static pid_t tracer;

static int find_collector(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "/libmtrace.so"))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            low = info->dlpi_addr + part->p_vaddr;
            high = low + part->p_memsz;
            if (part->p_memsz > MAX_CODE_BYTES)
                abort();
        }
    }
    return 1;
}

/* ---- the tracer ----
 * It allocates nothing and prints nothing: it is a child of the program under test.
 */

static uintptr_t rip_of(pid_t thread)
{
    return (uintptr_t)ptrace(PTRACE_PEEKUSER, thread, offsetof(struct user_regs_struct, rip), NULL);
}

static void wait_for_stop(pid_t thread, int *status)
{
    while (waitpid(thread, status, __WALL) < 0)
        if (errno != EINTR)
            _exit(1);
    if (!WIFSTOPPED(*status))
        _exit(1);
}

static bool is_breakpoint(pid_t thread)
{
    siginfo_t info;

    return ptrace(PTRACE_GETSIGINFO, thread, NULL, &info) == 0 && info.si_signo == SIGTRAP
           && info.si_code == SI_KERNEL;
}

/* The thread runs for a while; returns whether it came to its int3 before anything else. */
static bool resume(enum __ptrace_request how, pid_t thread, int *signal)
{
    int status;

    ptrace(how, thread, NULL, *signal);
    wait_for_stop(thread, &status);
    *signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    return is_breakpoint(thread);
}

static void add_point(uintptr_t rip, unsigned time)
{
    if (shared->n_points < MAX_POINTS) {
        shared->points[shared->n_points].rip = rip;
        shared->points[shared->n_points++].time = time;
    }
}

/* The thread stands after its int3, and comes to the one of its end. */
static void look(pid_t thread)
{
    static unsigned times[MAX_CODE_BYTES];
    int signal = 0;

    memset(times, 0, sizeof(times));
    shared->n_points = 0;
    do {
        uintptr_t at = rip_of(thread) - low;
        if (at < high - low && ++times[at] < OFTEN)
            add_point(low + at, times[at]);
    } while (!resume(PTRACE_SINGLESTEP, thread, &signal));
    for (uintptr_t at = 0; at < high - low; at++)
        if (times[at] >= OFTEN)
            add_point(low + at, times[at]);
}

static void set_breakpoint(pid_t thread, uintptr_t at)
{
    ptrace(PTRACE_POKEUSER, thread, offsetof(struct user, u_debugreg[0]), at);
    ptrace(PTRACE_POKEUSER, thread, offsetof(struct user, u_debugreg[7]), at ? BREAK_AT_CODE : 0);
}

/* Returns the signal that it continues with. */
static int run_to_point(pid_t thread)
{
    struct stepper_point point = shared->point;
    int signal = 0;

    set_breakpoint(thread, point.rip);
    while (!shared->has_fired && !resume(PTRACE_CONT, thread, &signal))
        if (signal == 0 && rip_of(thread) == point.rip && --point.time == 0)
            shared->has_fired = true;
    set_breakpoint(thread, 0);
    return shared->has_fired ? SIGUSR1 : 0;
}

static int handle_stop(pid_t thread, int status)
{
    int signal = WSTOPSIG(status);

    if (status >> 16 != 0) /* a new thread, or its first stop */
        return 0;
    if (signal != SIGTRAP)
        return signal;
    if (is_breakpoint(thread) && shared->command == BEGIN)
        return run_to_point(thread);
    if (is_breakpoint(thread) && shared->command == LOOK)
        look(thread);
    return 0;
}

static _Noreturn void trace(pid_t program)
{
    int status;
    pid_t thread;

    shared->is_traced = ptrace(PTRACE_SEIZE, program, NULL, PTRACE_O_TRACECLONE) == 0 ? 1 : -errno;
    while (shared->is_traced == 1 && (thread = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status))
            ptrace(PTRACE_CONT, thread, NULL, handle_stop(thread, status));
        else if (thread == program)
            break;
    }
    _exit(0);
}

/* ---- the program ---- */

bool stepper_start(void)
{
    pid_t program = getpid();

    dl_iterate_phdr(find_collector, NULL);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    tracer = fork();
    if (tracer == 0)
        trace(program);
    prctl(PR_SET_PTRACER, tracer);
    while (shared->is_traced == 0)
        usleep(100);
    return shared->is_traced == 1;
}

void stepper_stop(void)
{
    kill(tracer, SIGKILL); /* which leaves this process as it is */
    while (waitpid(tracer, NULL, 0) < 0 && errno == EINTR)
        continue;
    munmap((void *)shared, sizeof(*shared));
}

static void command(enum command what)
{
    shared->command = what;
    if (low != high)
        __asm__ volatile("int3" : : : "memory");
}

void stepper_look(void)
{
    shared->n_points = 0;
    command(LOOK);
}

unsigned stepper_n_points(void)
{
    return shared->n_points;
}

struct stepper_point stepper_point(unsigned i)
{
    return shared->points[i];
}

void stepper_begin(struct stepper_point point)
{
    shared->point = point;
    shared->has_fired = false;
    command(BEGIN);
}

bool stepper_end(void)
{
    command(END);
    return shared->has_fired;
}
