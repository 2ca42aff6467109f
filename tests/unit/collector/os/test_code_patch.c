/* SPDX-License-Identifier: MIT */
/* A function of this program is redirected to another one with one more argument, and can still be
 * called; or nothing changes. */
#include "collector/os/code_patch.h"
#include "collector/os/sys.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if !defined(__x86_64__)
#    error "write the functions of this architecture here"
#endif

/* plus_one: lea 1(%rdi),%rax; nop; ret. first_of: what it names is relative to where it stands. */
__asm__(".pushsection .text\n"
        ".globl plus_one, plus_two, first_of, first_of_next\n"
        "plus_one: lea 1(%rdi), %rax\n nop\n ret\n"
        "plus_two: lea 2(%rdi), %rax\n nop\n ret\n"
        "first_of: mov g_value(%rip), %rax\n"
        "first_of_next: ret\n"
        ".popsection\n");

uint64_t plus_one(uint64_t value);
uint64_t plus_two(uint64_t value);
uint64_t first_of(void);
void first_of_next(void);
extern uint64_t g_value;
uint64_t g_value = 77;

struct call {
    uint64_t value;
    uint64_t sixth;
};

static struct call g_last;

static uint64_t hook(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t sixth)
{
    (void)b;
    (void)c;
    (void)d;
    (void)e;
    g_last = (struct call){a, sixth};
    return 1000;
}

/* Five bytes move, and a jump leads back behind them. */
static struct code_patch patch_of(uintptr_t function, uint64_t sixth)
{
    struct code_patch patch = {
        .address = function, .argument = sixth, .n_expected = 5, .n_moved = 10, .n_fixes = 1};

    memcpy(patch.expected, (const void *)function, 5);
    memcpy(patch.moved, patch.expected, 5);
    patch.moved[5] = 0xe9;
    patch.fixes[0].at = 6;
    patch.fixes[0].end = 10;
    patch.fixes[0].target = function + 5;
    patch.hook = (uintptr_t)hook;
    return patch;
}

/* The protection of the page, as in /proc/self/maps. */
static void get_protection(uintptr_t address, char ret_text[5])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long long start;
    unsigned long long end;
    char line[512];

    ret_text[0] = '\0';
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%llx-%llx %4s", &start, &end, ret_text) == 3 && address >= start
            && address < end)
            break;
    (void)fclose(maps);
}

static uintptr_t start(void)
{
    extern const char __executable_start;

    return (uintptr_t)&__executable_start;
}

TEST(other_bytes_change_nothing)
{
    struct code_patch patches[2] = {patch_of((uintptr_t)plus_one, 1),
                                    patch_of((uintptr_t)plus_two, 2)};

    patches[1].expected[4] ^= 1;
    assert_int_equal(code_patch_apply(patches, 2, start()), LOG_EMBEDDED_CHANGED);
    patches[1].expected[4] ^= 1;
    patches[1].address = 8; /* no code is there */
    assert_int_equal(code_patch_apply(patches, 2, start()), LOG_EMBEDDED_CHANGED);
    assert_int_equal(plus_one(1), 2);
    assert_int_equal(plus_two(1), 3);
}

TEST(all_or_nothing)
{
    struct code_patch patches[2] = {patch_of((uintptr_t)plus_one, 1),
                                    patch_of((uintptr_t)plus_two, 2)};

    patches[1].fixes[0].target += (uintptr_t)1 << 40; /* no jump reaches that */
    assert_int_equal(code_patch_apply(patches, 2, start()), LOG_EMBEDDED_REFUSED);
    patches[1].fixes[0].target -= (uintptr_t)1 << 40;
    assert_int_equal(code_patch_apply(patches, 2, 4096), LOG_EMBEDDED_NO_ROOM);
#if !defined(__SANITIZE_THREAD__) /* whose shadow is there */
    /* far from the code: trampolines have room, but jumps do not reach them */
    assert_int_equal(code_patch_apply(patches, 2, start() / 2), LOG_EMBEDDED_REFUSED);
#endif
    assert_int_equal(plus_one(1), 2);
    assert_int_equal(plus_two(1), 3);
    sys_forbid();
    assert_int_not_equal(code_patch_apply(patches, 2, start()), LOG_EMBEDDED_RECORDED);
    sys_allow();
    assert_int_equal(plus_one(1), 2);
}

TEST(a_redirected_function_can_still_be_called)
{
    struct code_patch patches[2] = {patch_of((uintptr_t)plus_one, 0x123456789abcdef0),
                                    patch_of((uintptr_t)plus_two, 2)};
    char protection[5];

    assert_int_equal(code_patch_apply(patches, 2, start()), LOG_EMBEDDED_RECORDED);
    assert_int_equal(plus_one(5), 1000);
    assert_int_equal(g_last.value, 5);
    assert_int_equal(g_last.sixth, 0x123456789abcdef0);
    assert_int_equal(plus_two(6), 1000);
    assert_int_equal(g_last.sixth, 2);
    assert_int_equal(((uint64_t(*)(uint64_t))patches[0].original)(5), 6);
    assert_int_equal(((uint64_t(*)(uint64_t))patches[1].original)(5), 7);
    get_protection((uintptr_t)plus_one, protection);
    assert_string_equal(protection, "r-xp");
    get_protection(patches[0].original, protection);
    assert_string_equal(protection, "r-xp");
}

TEST(relative_operands_are_adjusted)
{
    struct code_patch patch = patch_of((uintptr_t)first_of, 3);

    patch.n_expected = 7;
    memcpy(patch.expected, (const void *)patch.address, 7);
    memcpy(patch.moved, patch.expected, 7);
    patch.moved[7] = 0xe9;
    patch.n_moved = 12;
    patch.n_fixes = 2;
    patch.fixes[0].at = 3;
    patch.fixes[0].end = 7;
    patch.fixes[0].target = (uintptr_t)&g_value;
    patch.fixes[1].at = 8;
    patch.fixes[1].end = 12;
    patch.fixes[1].target = (uintptr_t)first_of_next;
    assert_int_equal(code_patch_apply(&patch, 1, start()), LOG_EMBEDDED_RECORDED);
    assert_int_equal(first_of(), 1000);
    assert_int_equal(((uint64_t(*)(void))patch.original)(), 77);
}
