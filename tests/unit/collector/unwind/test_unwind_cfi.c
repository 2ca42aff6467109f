/* SPDX-License-Identifier: MIT */
/* Rules made from the CFI of this very program, and from CFI that temporarily cannot be copied. */
#include "collector/log/modules.h"
#include "collector/unwind/unwind_cache.h"
#include "collector/unwind/unwind_cfi.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/log_fixture.h"

#include <stdbool.h>

/* At the begin of a function the return address is still in a register, which no rule describes,
 * unless a call has pushed it. */
enum {
    KIND_AT_ENTRY = ARCH_HAS_FIXED_RA ? UNWIND_RULE_SP : UNWIND_RULE_FULL
};

static struct log_fixture g_log;
static struct unwind_cfi_scratch g_scratch;
static bool g_is_refused;

long __real_sys_copy_own(void *ret_bytes, uintptr_t address, size_t size_bytes);
long __wrap_sys_copy_own(void *ret_bytes, uintptr_t address, size_t size_bytes);

long __wrap_sys_copy_own(void *ret_bytes, uintptr_t address, size_t size_bytes)
{
    return g_is_refused ? -1 : __real_sys_copy_own(ret_bytes, address, size_bytes);
}

static int open_log(void **state)
{
    (void)state;
    log_fixture_open(&g_log, 8, 0);
    unwind_cache_init();
    return 0;
}

static int close_log(void **state)
{
    (void)state;
    log_fixture_close(&g_log);
    return 0;
}

static struct unwind_rule make(uintptr_t address, bool is_trusted)
{
    return unwind_cfi_make_rule_slow(address, modules_epoch(), is_trusted, &g_scratch);
}

TEST_WITH(a_failed_copy_leaves_the_code_unknown, open_log, close_log)
{
    uintptr_t address = (uintptr_t)make + 1;
    struct unwind_rule found;

    g_is_refused = true;
    assert_int_equal(make(address, false).kind, UNWIND_RULE_GUESS);
    assert_false(unwind_cache_find(address, modules_epoch(), &found));
    g_is_refused = false;
    assert_int_equal(make(address, false).kind, KIND_AT_ENTRY);
    assert_true(unwind_cache_find(address, modules_epoch(), &found));
    assert_int_equal(found.kind, KIND_AT_ENTRY);
}

TEST_WITH(code_without_cfi_is_known_as_such, open_log, close_log)
{
    static const char data[64];
    struct unwind_rule found;

    assert_int_equal(make((uintptr_t)data + 32, true).kind, UNWIND_RULE_GUESS);
    assert_true(unwind_cache_find((uintptr_t)data + 32, modules_epoch(), &found));
    assert_int_equal(found.kind, UNWIND_RULE_GUESS);
}
