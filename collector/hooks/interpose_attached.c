/* SPDX-License-Identifier: MIT */
/*
 * interpose_attached: the functions that mtrace-record --attach calls in a running program; only in
 * libmtrace-attach.so.
 */
#include "collector/hooks/operator_table.h"
#include "collector/hooks/reference_names.h"
#include "collector/os/loader_lock.h"
#include "collector/os/operator_names.h"
#include "collector/os/real.h"
#include "collector/process/got_rebinding.h"
#include "collector/process/lifecycle.h"
#include "collector/thread/state.h"
#include "lib/abi/attach_answer.h"
#include "lib/abi/attr.h"

#include <stddef.h>
#include <stdint.h>

int mtrace_attach(const char *settings);
int mtrace_detach(const char *unused);

/* Defined in interpose_new.c; their types do not matter here.
 * NOLINTBEGIN(readability-redundant-declaration) */
#define DECLARE(kind, slot, name) void name(void);
OPERATOR_NAMES(DECLARE)
#undef DECLARE
/* NOLINTEND(readability-redundant-declaration) */

static const struct reference g_operators[] = {
#define OPERATOR(kind, slot, name) \
    {#name, (void *)(uintptr_t)name, offsetof(struct real, operators.name), false, false},
    OPERATOR_NAMES(OPERATOR)
#undef OPERATOR
};

/* By a collector that the program was started with. Call with ld.so locked. */
static bool is_recorded(void)
{
    int (*detach)(const char *) =
        (int (*)(const char *))(uintptr_t)real_find_first("mtrace_detach");

    return detach && detach("?") == 0;
}

/* Call with ld.so locked, because other threads load and unload libraries. */
static bool find_operators(void)
{
    real_search_all();
    operator_table_find();
    return true;
}

/* Returns an enum attach_answer. */
MTRACE_EXPORT int mtrace_attach(const char *settings)
{
    if (state_is_recording())
        return ATTACH_ANSWER_ATTACHED;
    if (!got_rebinding_find_lock())
        return ATTACH_ANSWER_NO_LOADER;
    if (loader_lock_call(is_recorded))
        return ATTACH_ANSWER_RECORDED;
    if (!g_real.malloc) {
        reference_names_add();
        got_rebinding_add(g_operators, sizeof(g_operators) / sizeof(g_operators[0]));
        (void)loader_lock_call(find_operators);
    }
    if (!lifecycle_attach(settings))
        return ATTACH_ANSWER_NO_LOG;
    return got_rebinding_lacks_executable() ? ATTACH_ANSWER_NO_EXECUTABLE : ATTACH_ANSWER_DONE;
}

MTRACE_EXPORT int mtrace_detach(const char *unused)
{
    (void)unused;
    return lifecycle_detach() ? 0 : 1;
}
