/* SPDX-License-Identifier: MIT */
#include "collector/thread/quiet.h"

#include "collector/log/message.h"
#include "collector/log/segment.h"
#include "collector/thread/state.h"

/* Until state_is_recording runs in a fork child, it takes the parent's log for its own. */
bool quiet_begin_always(struct quiet *ret_quiet)
{
    ret_quiet->is_blocked = sys_block_signals(&ret_quiet->mask) >= 0;
    return state_is_recording();
}

/* Makes no system call if nothing is recorded. */
bool quiet_begin(struct quiet *ret_quiet)
{
    if (!state_is_recording())
        return false;
    if (quiet_begin_always(ret_quiet))
        return true;
    quiet_end(ret_quiet);
    return false;
}

void quiet_end(const struct quiet *quiet)
{
    if (quiet->is_blocked)
        sys_unblock_signals(quiet->mask);
}

void quiet_count_drop(enum log_drop reason)
{
    struct quiet quiet;

    if (!quiet_begin(&quiet))
        return;
    segment_count_drop(reason);
    quiet_end(&quiet);
}

void quiet_message(enum config_level level, const char *text)
{
    struct quiet quiet;

    quiet_begin_always(&quiet);
    message(level, text, NULL, 0);
    quiet_end(&quiet);
}
