/* SPDX-License-Identifier: MIT */
#include "collector/process/end.h"

#include "collector/events/mapped_memory.h"
#include "collector/events/record.h"
#include "collector/log/segment.h"
#include "collector/os/sys.h"
#include "collector/process/environment.h"
#include "collector/process/self_report.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

#include <stddef.h>

static void write_end(enum log_end kind, int value)
{
    uint64_t words[3] = {0, 0, (uint64_t)kind | (uint64_t)(uint32_t)value << 32};

    resident_pages_emit_all();
    record_event(LOG_END, 0, words, 3, NULL);
    atomic_store_explicit(&segment_log()->end_value, value, memory_order_relaxed);
    atomic_store_explicit(&segment_log()->end_kind, kind, memory_order_release);
}

/* False also in a vfork child, which has its parent's log. */
static bool begin(struct signals_block *ret_block)
{
    if (!signals_block_begin(ret_block))
        return false;
    if (state_is_own_process())
        return true;
    signals_block_end(ret_block);
    return false;
}

void end_write(enum log_end kind, int value)
{
    struct signals_block quiet;

    if (!begin(&quiet))
        return;
    write_end(kind, value);
    signals_block_end(&quiet);
}

void end_take_image(uintptr_t frame)
{
    if (state_config()->takes_exit_image)
        (void)self_report_heap_image("exit", "", frame);
}

void end_recording(void)
{
    mapped_memory_record_heaps();
    end_write(LOG_END_DETACHED, 0);
    environment_note_left();
    state_retire();
    segment_replace_mappings();
}

/* A fork child has a log of its own, or none: the parent's is not touched. */
void end_take_back(void)
{
    struct signals_block quiet;

    if (!begin(&quiet))
        return;
    atomic_store_explicit(&segment_log()->end_kind, LOG_END_UNKNOWN, memory_order_release);
    signals_block_end(&quiet);
}

static void take_back_exec(void)
{
    end_take_back();
    (void)record_note(LOG_EXEC_FAILED, 0, 0);
}

/* Behind a seccomp filter it is unknown whose exec this is; the next event shows it. */
void end_by_exec(void)
{
    end_write(LOG_END_EXEC, 0);
    if (state_is_recording() && sys_is_forbidden())
        (void)thread_will_exec(take_back_exec);
}

void end_exec_failed(void)
{
    if (!state_is_recording() || !state_is_own_process())
        return;
    thread_came_back();
    take_back_exec();
}
