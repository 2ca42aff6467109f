/* SPDX-License-Identifier: MIT */
#include "collector/hooks/forking.h"

#include "collector/log/modules.h"
#include "collector/process/control_commands.h"
#include "collector/process/got_rebinding.h"
#include "collector/sampling/sampler.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

bool forking_begins(void)
{
    control_commands_handle_early();
    sampler_fork_begins();
    return state_is_recording() && thread_fork_begins();
}

void forking_ended(bool is_child, bool is_nested)
{
    if (is_child && !state_is_own_process()) {
        got_rebinding_forget();
        modules_forget_unloads();
    }
    sampler_fork_ended(is_child);
    if (is_nested)
        thread_fork_ended(is_child);
}
