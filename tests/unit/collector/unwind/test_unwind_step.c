/* SPDX-License-Identifier: MIT */
/* Which words are taken for return addresses on ARM, and by which checks. */
#include "collector/log/modules.h"
#include "collector/unwind/unwind_cfi.h"
#include "collector/unwind/unwind_step.h"
#include "tests/lib/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    THUMB = 1,
    STACK_WORDS = 8,
    UNREPORTED_AT =
        256, /* in the module: a function without a table, and behind it one with a table */
    REPORTED_AT = 512,
    CANNOT_UNWIND = 1,
    REPORTED = 0x00b0b0b0, /* it keeps its return address in lr */
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

TEST(a_call_is_before_it)
{
    static const uint8_t blx_r3[] = {0x98, 0x47};
    const uintptr_t end = make_module();

    memcpy((void *)(end - sizeof(blx_r3)), blx_r3, sizeof(blx_r3));
    assert_int_equal(step_to(end | THUMB), STEP_CALLER);
    assert_int_equal(step_to((end - 2) | THUMB), STEP_TRUNCATED);
}

/* The code before it begins on a page, and would end on one that is not mapped. */
TEST(a_word_that_leads_into_a_hole)
{
    const uintptr_t end = make_module();

    assert_int_equal(step_to((end + 2) | THUMB), STEP_TRUNCATED);
}

static void put(uintptr_t at, uint32_t word)
{
    memcpy((void *)at, &word, sizeof(word));
}

/* The address to which the first instruction of a function with a table returns, if it is a return
 * address; the code before ends with `last`. */
static const struct cfi_row *row_at_function(uint32_t last)
{
    static struct unwind_cfi_scratch scratch;
    uint32_t module;

    (void)make_module();
    g_module.eh_frame_hdr = (const void *)g_module.start;
    g_module.n_entries = 2;
    put(g_module.start, UNREPORTED_AT);
    put(g_module.start + 4, CANNOT_UNWIND);
    put(g_module.start + 8, REPORTED_AT - 8);
    put(g_module.start + 12, 1u << 31 | REPORTED);
    put(g_module.start + UNREPORTED_AT, 0xbf00b510); /* push {r4, lr}; nop */
    put(g_module.start + REPORTED_AT - 4, last);
    scratch = (struct unwind_cfi_scratch){.is_unmapped = false};
    assert_int_equal(
        unwind_cfi_find_row(g_module.start + REPORTED_AT - 1, 0, false, &scratch, &module),
        CFI_FOUND);
    return &scratch.row;
}

/* bl, as the last instruction of a function; or a nop, so that no call returns to the code after
 * it. */
TEST(a_call_that_does_not_return)
{
    const struct cfi_row *row = row_at_function(0xf800f000);

    assert_true(row->is_from_code);
    assert_int_equal(row->registers[14].kind, CFI_AT_CFA);
    row = row_at_function(0xbf00bf00);
    assert_int_equal(row->registers[row->return_column].kind, CFI_UNDEFINED);
}
