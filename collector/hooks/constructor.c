/* SPDX-License-Identifier: MIT */
/* constructor: entry points of this library for ld.so (before main) and mtrace-record --detach.
 *
 * It is a file of its own so that tests can link the core without it. */
#include "collector/hooks/reference_names.h"
#include "collector/process/got_rebinding.h"
#include "collector/process/lifecycle.h"
#include "collector/process/loading.h"
#include "collector/thread/state.h"
#include "lib/abi/attr.h"

int mtrace_detach(const char *request);

__attribute__((constructor)) static void construct(void)
{
    reference_names_add();
    lifecycle_construct();
    if (lifecycle_is_ready() && got_rebinding_restore_own_names())
        loading_expect(); /* libraries that are opened later need the same */
}

/* For a process that has the collector from its start, when its recorder detaches or has exited.
 * "?": only returns whether it records. */
MTRACE_EXPORT int mtrace_detach(const char *request)
{
    if (request[0] == '?')
        return state_is_recording() ? 0 : 1;
    return lifecycle_detach() ? 0 : 1;
}
