/* SPDX-License-Identifier: MIT */
#include "recorder/recording/orders.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    RUN_ID_BEFORE_NUDGE = 9, /* struct state_shared of the collector */
};

static struct log_control *control_of(const struct live_log *live)
{
    return (struct log_control *)(void *)((unsigned char *)live->file + LOG_CONTROL_OFFSET);
}

uint32_t orders_ask(struct orders *orders, const struct order *order)
{
    if (orders->n_asked - orders->n_given >= ORDERS_MOST_WAITING)
        return 0;
    orders->waiting[orders->n_asked++ % ORDERS_MOST_WAITING] = *order;
    return orders->n_asked;
}

static uint32_t n_obeyed(const struct live_log *live)
{
    return atomic_load_explicit(&control_of(live)->n_obeyed, memory_order_acquire);
}

static void give(struct orders *orders, const struct live_log *live)
{
    const struct order *order = &orders->waiting[orders->n_given % ORDERS_MOST_WAITING];
    struct log_control *control = control_of(live);

    control->order = order->order;
    control->reason = order->reason;
    memcpy(control->name, order->name, sizeof(control->name));
    orders->is_nudged = false;
    atomic_store_explicit(&control->n_given, ++orders->n_given, memory_order_release);
}

/* OD-1. True: nothing more can be done about it. */
static bool nudge(const struct live_log *live, pid_t pid)
{
    uint64_t address = atomic_load_explicit(&control_of(live)->nudge_address, memory_order_acquire);
    const uint8_t one = 1;
    uint64_t run_id = 0;
    char path[64];
    int fd;

    if (address <= RUN_ID_BEFORE_NUDGE || address > INT64_MAX)
        return false; /* it has not begun */
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return true;
    if (pread(fd, &run_id, sizeof(run_id), (off_t)(address - RUN_ID_BEFORE_NUDGE)) == sizeof(run_id)
        && run_id == live->seen.run_id)
        (void)!pwrite(fd, &one, sizeof(one), (off_t)address);
    (void)close(fd);
    return true;
}

void orders_step(struct orders *orders, const struct live_log *live, pid_t pid)
{
    if (orders->n_asked == 0 || !live->has_begun)
        return;
    if (orders->n_given != orders->n_asked && n_obeyed(live) == orders->n_given)
        give(orders, live);
    if (!orders->is_nudged && n_obeyed(live) != orders->n_given)
        orders->is_nudged = nudge(live, pid);
}

bool orders_is_idle(const struct orders *orders, const struct live_log *live)
{
    return orders->n_given == orders->n_asked && n_obeyed(live) == orders->n_given;
}

uint32_t orders_window(const struct live_log *live)
{
    return atomic_load_explicit(&control_of(live)->is_open, memory_order_relaxed);
}

bool orders_is_window_open(const struct live_log *live)
{
    return orders_window(live) != 0;
}
