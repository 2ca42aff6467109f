/* SPDX-License-Identifier: MIT */
/* Which words beside a frame pointer are taken for return addresses on ARM, and what is looked at for that. */
#include "collector/log/modules.h"
#include "collector/unwind/unwind_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    THUMB = 1,
    STACK_WORDS = 8,
};

static struct module g_module;
static struct unwind_state g_state;

bool __wrap_modules_find(uintptr_t address, struct module *ret_module);

bool __wrap_modules_find(uintptr_t address, struct module *ret_module)
{
    *ret_module = g_module;
    return address >= g_module.start && address < g_module.end;
}

/* A module with a hole behind its first page; where that ends. */
static uintptr_t make_module(void)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(munmap(pages + page_bytes, page_bytes), 0);
    g_module = (struct module){
        .id = 1, .start = (uintptr_t)pages, .end = (uintptr_t)pages + 2 * page_bytes};
    return (uintptr_t)pages + page_bytes;
}

static enum unwind_step step_to(uintptr_t word)
{
    static uintptr_t stack[STACK_WORDS];
    struct unwind_frame frame = {.sp = (uintptr_t)stack, .fp = (uintptr_t)&stack[2]};
    struct unwind_frame caller;

    stack[2] = (uintptr_t)&stack[4];
    stack[3] = word;
    g_state.walk.low = (uintptr_t)stack;
    g_state.walk.high = (uintptr_t)(stack + STACK_WORDS);
    g_state.walk.is_own_stack = true;
    return unwind_step_guess(&g_state, &frame, &caller);
}

static void a_call_is_before_it(void **state)
{
    static const uint8_t blx_r3[] = {0x98, 0x47};
    const uintptr_t end = make_module();

    (void)state;
    memcpy((void *)(end - sizeof(blx_r3)), blx_r3, sizeof(blx_r3));
    assert_int_equal(step_to(end | THUMB), STEP_CALLER);
    assert_int_equal(step_to((end - 2) | THUMB), STEP_TRUNCATED);
}

/* What is before it begins on a page, and would end on one that is not there. */
static void a_word_that_leads_into_a_hole(void **state)
{
    const uintptr_t end = make_module();

    (void)state;
    assert_int_equal(step_to((end + 2) | THUMB), STEP_TRUNCATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_is_before_it),
                                       cmocka_unit_test(a_word_that_leads_into_a_hole)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
