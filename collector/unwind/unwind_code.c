/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_code.h"

#include "collector/arch/arch.h"
#include "collector/os/sys.h"

#include <errno.h>

enum {
    INSTRUCTION_BYTES = 1 << ARCH_CODE_SHIFT, /* at least */
    WORD_BYTES = sizeof(uint32_t),
    MAX_WINDOWS = 170, /* some 256 KiB of a function, before the call */
    PART_BYTES = 1024, /* of a function, up to the call */
};

static bool is_all_readable(uintptr_t address, size_t n_bytes)
{
    const uintptr_t in_page = address % ARCH_PAGE_BYTES;
    const uintptr_t first = address - in_page;

    if (n_bytes - 1 > UINTPTR_MAX - address)
        return false;
    for (uintptr_t at = 0; at < in_page + n_bytes; at += ARCH_PAGE_BYTES)
        if (!sys_is_readable(first + at))
            return false;
    return true;
}

bool unwind_code_copy(void *ret_bytes, uintptr_t address, size_t n_bytes)
{
    const long result = sys_copy_own(ret_bytes, address, n_bytes);

    if (result != -ENOSYS)
        return result == (long)n_bytes;
    if (n_bytes == 0 || !is_all_readable(address, n_bytes))
        return false;
    __builtin_memcpy(ret_bytes, (const void *)address, n_bytes);
    return true;
}

bool unwind_code_is_behind_call(uintptr_t pc)
{
    uint8_t before[ARCH_CALL_BYTES];

    return pc % INSTRUCTION_BYTES == 0 && pc > sizeof(before)
           && unwind_code_copy(before, pc - sizeof(before), sizeof(before))
           && (arch_is_behind_call(before, pc | 1)
               || (pc % WORD_BYTES == 0 && arch_is_behind_call(before, pc)));
}

static void describe(const struct arch_code_frame *frame, bool has_fp, struct cfi_row *row)
{
    *row = (struct cfi_row){.cfa = {.offset = has_fp ? frame->fp_offset : frame->cfa_offset,
                                    .n = has_fp ? frame->fp : ARCH_SP,
                                    .kind = CFI_IN_REGISTER},
                            .return_column = ARCH_RETURN_COLUMN,
                            .is_from_code = true};
    for (uint32_t number = 0; number < 32; number++)
        if (frame->saved & ARCH_CALLEE_SAVED & ARCH_BIT(number))
            row->registers[number] =
                (struct cfi_rule){.offset = frame->offset[number], .kind = CFI_AT_CFA};
}

/* Reads from the instructions that make a frame to the address in question, or until it is known
 * whether there is a frame pointer. */
static bool read_rest(struct arch_code_rest *rest, struct unwind_code_scratch *scratch)
{
    for (unsigned i = 0; i < 2 * MAX_WINDOWS; i++) {
        /* the next page may be unmapped */
        const size_t of_page = ARCH_PAGE_BYTES - rest->at % ARCH_PAGE_BYTES;
        size_t n_bytes = PART_BYTES;
        enum arch_code_answer answer;
        if (of_page < n_bytes)
            n_bytes = of_page < ARCH_CALL_BYTES ? ARCH_CALL_BYTES : of_page;
        if (!unwind_code_copy(scratch->window, rest->at, n_bytes))
            return rest->at > rest->pc;
        answer = arch_read_rest(scratch->window, n_bytes, rest);
        if (answer != ARCH_CODE_GO_ON)
            return answer == ARCH_CODE_FOUND;
    }
    return false;
}

/* A register counts as frame pointer only if the function returns by it; any other register may
 * have been changed. */
static bool finish(const struct arch_code_frame *frame, uintptr_t window, uintptr_t pc,
                   struct unwind_code_scratch *scratch, struct cfi_row *ret_row)
{
    struct arch_code_rest rest = {
        .at = window + frame->begin, .made = window + frame->end, .pc = pc, .set = frame->set};

    if (frame->fp != 0 && (frame->saved & ARCH_BIT(frame->fp)))
        rest.fp = frame->fp;
    if (!read_rest(&rest, scratch))
        return false;
    describe(frame, rest.has_fp, ret_row);
    return rest.has_fp || !frame->needs_fp;
}

/* Windows overlap, so that the instructions that make a frame are whole in one of them. */
bool unwind_code_find_row(uintptr_t address, uintptr_t low, struct unwind_code_scratch *scratch,
                          struct cfi_row *ret_row)
{
    const size_t window_bytes = sizeof(scratch->window);
    uintptr_t end = address + 1;
    struct arch_code_frame frame = {.needs_fp = false};

    if (!ARCH_HAS_CODE_FRAMES || !unwind_code_is_behind_call(end))
        return false;
    for (unsigned i = 0; i < MAX_WINDOWS && end > low; i++) {
        const bool is_first = end - low <= window_bytes; /* of the available code */
        const size_t n_bytes = is_first ? end - low : window_bytes;
        const size_t n_before = is_first ? 0 : ARCH_CODE_BEFORE_BYTES;
        const uintptr_t start = (end - n_bytes + WORD_BYTES - 1) & -(uintptr_t)WORD_BYTES;
        enum arch_code_answer answer;

        if (start >= end || !unwind_code_copy(scratch->window, start, end - start))
            return false;
        answer = arch_read_frame(scratch->window, end - start, n_before, &frame);
        if (answer == ARCH_CODE_FOUND)
            return finish(&frame, start, address + 1, scratch, ret_row);
        if (answer != ARCH_CODE_GO_ON || is_first)
            return false;
        end = start + n_before + ARCH_MAX_FRAME_CODE;
    }
    return false;
}
