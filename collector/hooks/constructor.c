/* SPDX-License-Identifier: MIT */
/* constructor: what others call of this library: ld.so before main, and mtrace-record --detach; apart, so that tests link the core. */
#include "collector/hooks/reference_names.h"
#include "collector/process/lifecycle.h"
#include "collector/thread/state.h"
#include "lib/abi/attr.h"

int mtrace_detach(const char *question);

__attribute__((constructor)) static void construct(void)
{
    reference_names_add();
    lifecycle_construct();
}

/* In a process that has us from its start, and whose recorder leaves it, or is gone. "?": whether it records, which goes on. */
MTRACE_EXPORT int mtrace_detach(const char *question)
{
    if (question[0] == '?')
        return state_is_recording() ? 0 : 1;
    return lifecycle_detach() ? 0 : 1;
}
