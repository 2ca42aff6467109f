/* SPDX-License-Identifier: MIT */
#include "collector/os/clock.h"

#include "collector/os/fmt.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/os/wide.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

enum clock_source g_clock_source = CLOCK_SOURCE_MONOTONIC;

static enum log_clock g_unit = LOG_CLOCK_MONOTONIC;
static struct clock_instant g_first;      /* at clock_init */
static struct clock_instant g_switch;     /* when the TSC was forbidden */
static uint64_t g_ticks_per_second;       /* of g_first..g_switch */
static enum clock_source g_source_before; /* clock_forbid_all */
static int (*g_vdso_before)(clockid_t, struct sys_time *);
static _Atomic uint64_t g_logical_ticks;                    /* of the logical source */
static int (*g_vdso_gettime)(clockid_t, struct sys_time *); /* NULL: use the system call */

enum {
    MAX_READINGS = 4,
    CLOSE_TICKS = 10000, /* some µs: the thread was not interrupted between two readings */
};

static uint64_t monotonic_ns(void)
{
    struct sys_time time;

    if (g_vdso_gettime && g_vdso_gettime(CLOCK_MONOTONIC, &time) == 0)
        return (uint64_t)time.seconds * 1000000000u + (uint64_t)time.ns;
    return sys_clock_ns(CLOCK_MONOTONIC);
}

/*
 * The kernel keeps its clock source "tsc" only while the counters of all cores agree, and switches
 * when its watchdog sees them drift. Under KVM the paravirtual clock is stable if the counter is
 * invariant.
 */
static bool kernel_trusts_counter(void)
{
    static const char *const sources[] = {ARCH_COUNTER_SOURCES};
    char name[32] = "";
    int fd = (int)sys_open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                           O_RDONLY, 0);
    long length;

    if (fd < 0)
        return false;
    length = sys_read(fd, name, sizeof(name) - 1);
    sys_close(fd);
    if (length <= 0)
        return false;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (fmt_is_equal(name, sources[i]))
            return true;
    return fmt_is_equal(name, ARCH_STABLE_SOURCE) && arch_is_counter_invariant();
}

void clock_init(bool is_tsc_allowed)
{
    /* A program that forbade the TSC may have called exec afterwards. The vdso reads it, too. */
    bool is_readable = sys_may_read_tsc();
    void *gettime = is_readable ? real_find_in_vdso(ARCH_VDSO_CLOCK) : NULL;

    memcpy(&g_vdso_gettime, &gettime, sizeof(gettime));
    if (is_tsc_allowed && is_readable && arch_has_counter() && kernel_trusts_counter()) {
        g_clock_source = CLOCK_SOURCE_TSC;
        g_unit = LOG_CLOCK_TSC;
    } else {
        g_clock_source = CLOCK_SOURCE_MONOTONIC;
        g_unit = LOG_CLOCK_MONOTONIC;
    }
    g_first = clock_now();
}

enum log_clock clock_unit(void)
{
    return g_unit;
}

/* If interrupted between the two readings, the time is too late for the ticks. The importer detects
 * this (clock_map.h). */
static struct clock_instant read_both(void)
{
    struct clock_instant now;

    for (unsigned i = 0; i < MAX_READINGS; i++) {
        now.ticks = clock_ticks_after();
        now.monotonic_ns = monotonic_ns();
        if (arch_counter() - now.ticks < CLOSE_TICKS)
            break;
    }
    return now;
}

struct clock_instant clock_now(void)
{
    struct clock_instant now = {0, 0};

    switch (g_clock_source) {
    case CLOCK_SOURCE_TSC:
        return read_both();
    case CLOCK_SOURCE_MONOTONIC:
        now.monotonic_ns = now.ticks = monotonic_ns();
        break;
    case CLOCK_SOURCE_CONVERTED:
        now.ticks = clock_ticks_slow();
        now.monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
        break;
    case CLOCK_SOURCE_LOGICAL:
        now.ticks = clock_ticks_slow();
        break;
    }
    return now;
}

/* value * factor / divisor without losing the high bits of the product. */
static uint64_t scale(uint64_t value, uint64_t factor, uint64_t divisor)
{
    return divisor ? wide_divide(wide_multiply(value, factor), divisor) : 0;
}

static uint64_t converted_ticks(void)
{
    uint64_t elapsed_ns = sys_clock_ns(CLOCK_MONOTONIC) - g_switch.monotonic_ns;

    return g_switch.ticks + scale(elapsed_ns, g_ticks_per_second, 1000000000u);
}

uint64_t clock_ticks_slow(void)
{
    switch (g_clock_source) {
    case CLOCK_SOURCE_MONOTONIC:
        return monotonic_ns();
    case CLOCK_SOURCE_CONVERTED:
        return converted_ticks();
    case CLOCK_SOURCE_LOGICAL:
        return atomic_fetch_add_explicit(&g_logical_ticks, 1, memory_order_relaxed) + 1;
    case CLOCK_SOURCE_TSC:
        break;
    }
    return arch_counter();
}

/* The vdso reads the TSC, too: from here on only system calls are used. */
void clock_forbid_tsc(void)
{
    uint64_t elapsed_ns;

    if (g_clock_source != CLOCK_SOURCE_TSC && g_clock_source != CLOCK_SOURCE_MONOTONIC)
        return;
    g_switch = clock_now();
    g_vdso_gettime = NULL;
    if (g_clock_source == CLOCK_SOURCE_MONOTONIC)
        return;
    elapsed_ns = g_switch.monotonic_ns - g_first.monotonic_ns;
    g_ticks_per_second = scale(g_switch.ticks - g_first.ticks, 1000000000u, elapsed_ns);
    g_clock_source = CLOCK_SOURCE_CONVERTED;
}

void clock_forbid_all(void)
{
    if (g_clock_source == CLOCK_SOURCE_LOGICAL)
        return;
    atomic_store_explicit(&g_logical_ticks, clock_now().ticks, memory_order_relaxed);
    g_source_before = g_clock_source;
    g_vdso_before = g_vdso_gettime;
    g_vdso_gettime = NULL;
    atomic_thread_fence(memory_order_release); /* no reader counts on from 0 */
    g_clock_source = CLOCK_SOURCE_LOGICAL;
}

void clock_allow(void)
{
    if (g_clock_source != CLOCK_SOURCE_LOGICAL)
        return;
    g_vdso_gettime = g_vdso_before;
    g_clock_source = g_source_before;
}
