/* SPDX-License-Identifier: MIT */
#include "collector/process/presence.h"

#include "collector/log/segment.h"
#include "collector/os/config.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"

#include <stdatomic.h>
#include <stdbool.h>

/* A recorder that has not found this log yet, or has released it, has the PID from the
 * configuration. */
static uint32_t pid_of_recorder(struct log_file *log)
{
    uint32_t pid = atomic_load_explicit(&log->recorder_pid, memory_order_relaxed);

    return pid ? pid : state_config()->recorder_pid;
}

static _Atomic uint32_t
    g_heartbeat_without_recorder; /* heartbeat when the PID last did not exist; 0: it always did */
static _Atomic bool g_is_elsewhere; /* its PID belongs to another namespace */

void presence_forget(void)
{
    atomic_store_explicit(&g_heartbeat_without_recorder, 0, memory_order_relaxed);
    atomic_store_explicit(&g_is_elsewhere, false, memory_order_relaxed);
}

/* The heartbeat was read after the PID was found missing. If the recorder is gone, all such
 * heartbeats are equal. */
static void note_absent_recorder(uint32_t heartbeat)
{
    uint32_t before =
        atomic_exchange_explicit(&g_heartbeat_without_recorder, heartbeat, memory_order_relaxed);

    if (before != 0 && before != heartbeat)
        atomic_store_explicit(&g_is_elsewhere, true, memory_order_relaxed);
}

enum presence presence_look(uint32_t *heartbeat)
{
    struct log_file *log = segment_log();
    uint32_t last = *heartbeat;
    bool is_no_group = sys_process_exists((long)pid_of_recorder(log)) != 0;

    *heartbeat = atomic_load_explicit(&log_question_of(log)->heartbeat, memory_order_acquire);
    if (is_no_group)
        note_absent_recorder(*heartbeat);
    if (*heartbeat != last)
        return PRESENCE_HEARTBEATS;
    return is_no_group && !atomic_load_explicit(&g_is_elsewhere, memory_order_relaxed)
               ? PRESENCE_NONE
               : PRESENCE_STILL;
}
