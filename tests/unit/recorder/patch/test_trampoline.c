/* SPDX-License-Identifier: MIT */
/* Which instructions may be moved, what they become elsewhere, and which must stay. */
#include "recorder/patch/trampoline.h"
#include "tests/lib/unit.h"

#include <stdbool.h>
#include <string.h>

static const uint64_t g_address = 0x401000;

struct bytes {
    const uint8_t *at;
    size_t n;
};

#define BYTES(...)                                                             \
    (struct bytes)                                                             \
    {                                                                          \
        (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}) \
    }

static const char *make(struct bytes code, struct trampoline *ret_moved)
{
    return trampoline_make(code.at, code.n, g_address, ret_moved);
}

static void is_moved(struct bytes code, uint64_t offset, size_t n_expected, struct bytes moved_to)
{
    struct trampoline moved;

    assert_null(make(code, &moved));
    assert_int_equal(moved.address, g_address + offset);
    assert_int_equal(moved.n_expected, n_expected);
    assert_memory_equal(moved.expected, code.at + offset, n_expected);
    assert_int_equal(moved.n_bytes, moved_to.n);
    assert_memory_equal(moved.bytes, moved_to.at, moved_to.n);
}

static void is_refused(struct bytes code, const char *word)
{
    struct trampoline moved;
    const char *why = make(code, &moved);

    assert_non_null(why);
    assert_non_null(strstr(why, word));
}

static int skip_without_zydis(void **state)
{
    struct trampoline moved;
    const char *why = make(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0xc3), &moved);

    (void)state;
    if (why && strstr(why, "Zydis"))
        exit(77);
    return 0;
}

TESTS_WITH(skip_without_zydis, NULL);

TEST(whole_instructions_move_and_a_jump_leads_back)
{
    struct trampoline moved;
    /* push %rbp; mov %rsp,%rbp; push %r15; push %r14; ret */
    struct bytes code = BYTES(0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x41, 0x56, 0xc3);

    is_moved(code, 0, 6, BYTES(0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xe9, 0, 0, 0, 0));
    assert_null(make(code, &moved));
    assert_int_equal(moved.n_fixes, 1);
    assert_int_equal(moved.fixes[0].at, 7);
    assert_int_equal(moved.fixes[0].end, 11);
    assert_int_equal(moved.fixes[0].target, g_address + 6);
}

TEST(the_mark_of_an_indirect_target_stays)
{
    /* endbr64; cmp $0x1000,%rdi; ret */
    is_moved(BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x81, 0xff, 0, 0x10, 0, 0, 0xc3), 4, 7,
             BYTES(0x48, 0x81, 0xff, 0, 0x10, 0, 0, 0xe9, 0, 0, 0, 0));
}

TEST(branches_and_operands_become_displacements)
{
    struct trampoline moved;
    /* test %rdi,%rdi; je over the ret; … */
    struct bytes condition = BYTES(0x48, 0x85, 0xff, 0x74, 0x01, 0xc3, 0x90, 0xc3);
    /* lea 0x100(%rip),%rax; ret */
    struct bytes operand = BYTES(0x48, 0x8d, 0x05, 0, 1, 0, 0, 0xc3);
    /* xor %ecx,%ecx; jmp -0x100 */
    struct bytes jump = BYTES(0x31, 0xc9, 0xe9, 0, 0xff, 0xff, 0xff);
    /* cmpl $7,0x100(%rip): the operand is not the end of the instruction; ret */
    struct bytes constant = BYTES(0x83, 0x3d, 0, 1, 0, 0, 7, 0xc3);

    is_moved(condition, 0, 5, BYTES(0x48, 0x85, 0xff, 0x0f, 0x84, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0));
    assert_null(make(condition, &moved));
    assert_int_equal(moved.n_fixes, 2);
    assert_int_equal(moved.fixes[0].target, g_address + 6);

    assert_null(make(operand, &moved));
    assert_int_equal(moved.fixes[0].at, 3);
    assert_int_equal(moved.fixes[0].end, 7);
    assert_int_equal(moved.fixes[0].target, g_address + 7 + 0x100);

    is_moved(jump, 0, 7, BYTES(0x31, 0xc9, 0xe9, 0, 0, 0, 0));
    assert_null(make(jump, &moved));
    assert_int_equal(moved.n_fixes, 1); /* nothing comes back */
    assert_int_equal(moved.fixes[0].target, g_address + 7 - 0x100);

    assert_null(make(constant, &moved));
    assert_int_equal(moved.fixes[0].at, 2);
    assert_int_equal(moved.fixes[0].end, 7);
    assert_int_equal(moved.fixes[0].target, g_address + 7 + 0x100);
}

TEST(immovable_instructions_are_not_patched)
{
    is_refused(BYTES(0xc3), "short");
    is_refused(BYTES(0x90, 0x90, 0x90, 0x90), "shorter");
    is_refused(BYTES(0xeb, 0x10, 0x90, 0x90, 0x90, 0x90), "shorter"); /* jmp, then padding */
    is_refused(BYTES(0xe8, 0, 0, 0, 0, 0xc3), "call");
    is_refused(BYTES(0xff, 0xd0, 0x90, 0x90, 0x90, 0xc3), "call");   /* call *%rax */
    is_refused(BYTES(0xe3, 0x10, 0x90, 0x90, 0x90, 0xc3), "branch"); /* jrcxz */
    is_refused(BYTES(0xcc, 0x90, 0x90, 0x90, 0x90, 0xc3), "cannot be moved");
    is_refused(BYTES(0x0f, 0x05, 0x90, 0x90, 0x90, 0xc3), "cannot be moved"); /* syscall */
    is_refused(BYTES(0x06, 0x90, 0x90, 0x90, 0x90, 0xc3), "decoded");
    is_refused(BYTES(0x48, 0xb8, 1, 2, 3), "decoded"); /* cut in the middle */
    /* xor %eax,%eax; dec %eax; jns to the dec; nop; ret */
    is_refused(BYTES(0x31, 0xc0, 0xff, 0xc8, 0x79, 0xfc, 0x90, 0xc3), "jumps back");
    /* the same from further down, with 32 bits */
    is_refused(BYTES(0x31, 0xc0, 0xff, 0xc8, 0x90, 0xc3, 0x0f, 0x89, 0xf6, 0xff, 0xff, 0xff),
               "jumps back");
    is_refused(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0x06), "decoded"); /* what follows is no code */
    is_refused((struct bytes){(const uint8_t[]){0x90}, 0}, "length");
}

/* A loop to the entry itself is a call of the function. */
TEST(a_jump_to_the_entry_is_none_between)
{
    struct trampoline moved;

    assert_null(make(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xf9), &moved));
    assert_null(make(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfe), &moved));
}

TEST(suspects_are_found_at_every_byte)
{
    const struct trampoline first = {.address = 0x1000, .n_expected = 7};
    const struct trampoline second = {.address = 0x2000, .n_expected = 5};
    const struct trampoline *const ascending[] = {&first, &second};
    uint8_t text[64];

    for (size_t place = 2; place + 4 <= sizeof(text); place++)
        for (uint64_t target = 0x1ffe; target < 0x2008; target++) {
            uint64_t base = 0x8000;
            int32_t displacement = (int32_t)(int64_t)(target - (base + place + 4));
            size_t at = 0;
            bool is_between = target > 0x2000 && target < 0x2005;
            memset(text, 0x90, sizeof(text));
            text[place - 1] = 0xe9;
            memcpy(text + place, &displacement, sizeof(displacement));
            assert_int_equal(trampoline_find_suspect(text, sizeof(text), base, ascending, 2, &at),
                             is_between ? 1 : 2);
            text[place - 2] = 0x0f;
            text[place - 1] = 0x8d;
            at = 0;
            assert_int_equal(trampoline_find_suspect(text, sizeof(text), base, ascending, 2, &at),
                             is_between ? 1 : 2);
            if (is_between)
                assert_int_equal(at, place + 1);
        }
}

TEST(short_branches_are_suspects_too)
{
    static const uint8_t opcodes[] = {0xeb, 0x70, 0x74, 0x7f, 0xe0, 0xe1, 0xe2, 0xe3};
    const struct trampoline moved = {.address = 0x2000, .n_expected = 5};
    const struct trampoline *const ascending[] = {&moved};

    for (size_t i = 0; i < sizeof(opcodes); i++)
        for (int displacement = -128; displacement < 128; displacement++) {
            const uint8_t text[] = {opcodes[i], (uint8_t)displacement};
            bool is_behind = displacement < 0;
            uint64_t base = is_behind ? 0x2010 : 0x1ff0;
            uint64_t target = base + sizeof(text) + (uint64_t)(int64_t)displacement;
            bool is_between = target > 0x2000 && target < 0x2005;
            size_t at = 0;
            assert_int_equal(trampoline_find_suspect(text, sizeof(text), base, ascending, 1, &at),
                             is_between ? 0 : 1);
            if (is_between)
                assert_int_equal(at, 2);
        }
}

/* The target of the displacement at `i`, as any of the two kinds of branch has it. */
static bool leads_into(const uint8_t *text, size_t n, size_t i, uint64_t address,
                       const struct trampoline *moved)
{
    bool is_short =
        text[i - 1] == 0xeb || (text[i - 1] & 0xf0) == 0x70 || (text[i - 1] & 0xfc) == 0xe0;
    bool is_long = text[i - 1] == 0xe8 || text[i - 1] == 0xe9
                   || (i > 1 && text[i - 2] == 0x0f && (text[i - 1] & 0xf0) == 0x80);
    int32_t displacement = 0;
    uint64_t target;

    if (is_short) {
        target = address + i + 1 + (uint64_t)(int64_t)(int8_t)text[i];
    } else if (is_long && n - i >= sizeof(displacement)) {
        memcpy(&displacement, text + i, sizeof(displacement));
        target = address + i + sizeof(displacement) + (uint64_t)(int64_t)displacement;
    } else {
        return false;
    }
    return target > moved->address && target < moved->address + moved->n_expected;
}

/* A long text is looked through in blocks: at every place, near the codes and far from them, none
 * is missed. */
TEST(long_texts_have_the_suspects_of_each_byte)
{
    enum {
        BYTES = 4000
    };

    static uint8_t text[BYTES];
    uint32_t seed = 1;

    for (unsigned round = 0; round < 400; round++) {
        uint64_t base = round % 4 == 0 ? 0x7f0000001000 : 0x8000;
        uint64_t at_first = base + (round % 3 == 0 ? 1000 : (uint64_t)0 - 0x6000);
        uint64_t between = round % 5 == 0 ? 0x123456789 : 0x40;
        const struct trampoline first = {.address = at_first, .n_expected = 9};
        const struct trampoline second = {.address = at_first + between, .n_expected = 5};
        const struct trampoline *const ascending[] = {&first, &second};
        size_t n = BYTES - round;
        size_t at = 0;
        for (size_t i = 0; i < n; i++)
            text[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
        for (unsigned k = 0; k < 20; k++) {
            size_t place = 1 + (seed = seed * 1103515245 + 12345) % (uint32_t)(n - 5);
            uint64_t target = (k % 2 ? first.address : second.address) + k % 7;
            int32_t displacement = (int32_t)(uint32_t)(target - (base + place + 4));
            text[place - 1] = k % 3 ? 0xe8 : 0xe9;
            memcpy(text + place, &displacement, sizeof(displacement));
        }
        for (size_t i = 1; i < n; i++)
            for (size_t k = 0; k < 2; k++)
                if (leads_into(text, n, i, base, ascending[k])) {
                    assert_int_equal(trampoline_find_suspect(text, n, base, ascending, 2, &at), k);
                    assert_int_equal(at, i + 1);
                }
        assert_int_equal(trampoline_find_suspect(text, n, base, ascending, 2, &at), 2);
    }
}

static bool is_wanted(uint64_t target, void *context)
{
    return target == *(const uint64_t *)context;
}

TEST(references_are_branches_and_operands)
{
    /* lea 0x100(%rip),%rdx; call +0x20; ret */
    struct bytes code = BYTES(0x48, 0x8d, 0x15, 0, 1, 0, 0, 0xe8, 0x20, 0, 0, 0, 0xc3);
    uint64_t operand = g_address + 7 + 0x100;
    uint64_t call = g_address + 12 + 0x20;
    uint64_t other = g_address + 13;

    assert_true(trampoline_has_reference(code.at, code.n, g_address, is_wanted, &operand));
    assert_true(trampoline_has_reference(code.at, code.n, g_address, is_wanted, &call));
    assert_false(trampoline_has_reference(code.at, code.n, g_address, is_wanted, &other));
}
