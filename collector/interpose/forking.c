/* SPDX-License-Identifier: MIT */
#include "collector/interpose/forking.h"

#include "collector/attached/references.h"
#include "collector/life/control.h"
#include "collector/log/modules.h"
#include "collector/record/sampler.h"
#include "collector/record/state.h"
#include "collector/record/thread.h"

bool forking_begins(void)
{
    control_obey_early();
    sampler_fork_begins();
    return state_is_recording() && thread_fork_begins();
}

void forking_ended(bool is_child, bool is_nested)
{
    if (is_child && !state_is_own_process()) {
        references_forget();
        modules_forget_unloads();
    }
    sampler_fork_ended(is_child);
    if (is_nested)
        thread_fork_ended(is_child);
}
