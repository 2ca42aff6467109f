/* SPDX-License-Identifier: MIT */
#include "collector/process/presence.h"

#include "collector/log/segment.h"
#include "collector/os/config.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Who has not found this log yet, or has let it go, has the pid that we were told. */
static uint32_t pid_of_recorder(struct log_file *log)
{
    uint32_t pid = atomic_load_explicit(&log->recorder_pid, memory_order_relaxed);

    return pid ? pid : state_config()->recorder_pid;
}

static _Atomic uint32_t g_beat_of_nobody; /* when the pid was last nobody's; 0: it never was */
static _Atomic bool g_is_elsewhere;       /* its pid is one of another namespace */

void presence_forget(void)
{
    atomic_store_explicit(&g_beat_of_nobody, 0, memory_order_relaxed);
    atomic_store_explicit(&g_is_elsewhere, false, memory_order_relaxed);
}

/* The beat was read after the pid was found to be nobody's: of who is gone no later one is another. */
static void note_nobody(uint32_t beat)
{
    uint32_t before = atomic_exchange_explicit(&g_beat_of_nobody, beat, memory_order_relaxed);

    if (before != 0 && before != beat)
        atomic_store_explicit(&g_is_elsewhere, true, memory_order_relaxed);
}

enum presence presence_look(uint32_t *beat)
{
    struct log_file *log = segment_log();
    uint32_t last = *beat;
    bool is_nobody = sys_process_exists((long)pid_of_recorder(log)) != 0;

    *beat = atomic_load_explicit(&log_question_of(log)->beat, memory_order_acquire);
    if (is_nobody)
        note_nobody(*beat);
    if (*beat != last)
        return PRESENCE_BEATS;
    return is_nobody && !atomic_load_explicit(&g_is_elsewhere, memory_order_relaxed)
               ? PRESENCE_NOBODY
               : PRESENCE_STILL;
}
