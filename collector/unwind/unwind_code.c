/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_code.h"

#include "collector/arch/arch.h"
#include "collector/platform/sys.h"

#include <errno.h>

enum {
    INSTRUCTION_BYTES = sizeof(uint32_t),
    CALL_BYTES = 2 * INSTRUCTION_BYTES, /* with its delay slot */
    MOST_WINDOWS = 170,                 /* some 256 KiB of a function, before the call */
};

static bool is_all_readable(uintptr_t address, size_t n_bytes)
{
    const uintptr_t last = address + n_bytes - 1;
    uintptr_t at = address & ~(uintptr_t)(ARCH_PAGE_BYTES - 1);

    for (; at <= last; at += ARCH_PAGE_BYTES)
        if (!sys_is_readable(at))
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
    uint32_t instruction;

    return pc % INSTRUCTION_BYTES == 0 && pc > CALL_BYTES
           && unwind_code_copy(&instruction, pc - CALL_BYTES, sizeof(instruction))
           && arch_is_call(instruction);
}

static void describe(const struct arch_code_frame *frame, struct cfi_row *row)
{
    *row = (struct cfi_row){
        .cfa = {.offset = frame->cfa_offset, .n = frame->base, .kind = CFI_IN_REGISTER},
        .return_column = ARCH_RETURN_COLUMN,
        .is_from_code = true};
    for (uint32_t number = 0; number < 32; number++)
        if (frame->saved & ARCH_CALLEE_SAVED & ARCH_BIT(number))
            row->registers[number] =
                (struct cfi_rule){.offset = frame->offset[number], .kind = CFI_AT_CFA};
}

/* Windows overlap, so that what makes a frame is whole in one of them. */
bool unwind_code_find_row(uintptr_t address, uintptr_t low, struct unwind_code_scratch *scratch,
                          struct cfi_row *ret_row)
{
    const size_t window_bytes = sizeof(scratch->window);
    uintptr_t end = address + 1;
    struct arch_code_frame frame;

    if (!ARCH_HAS_CODE_FRAMES || !unwind_code_is_behind_call(end))
        return false;
    for (unsigned i = 0; i < MOST_WINDOWS && end > low; i++) {
        const size_t n_bytes = end - low < window_bytes ? end - low : window_bytes;
        const uintptr_t start =
            (end - n_bytes + INSTRUCTION_BYTES - 1) & -(uintptr_t)INSTRUCTION_BYTES;
        enum arch_code_answer answer;

        if (start >= end || !unwind_code_copy(scratch->window, start, end - start))
            return false;
        answer = arch_read_frame(scratch->window, (end - start) / INSTRUCTION_BYTES, &frame);
        if (answer == ARCH_CODE_FOUND)
            describe(&frame, ret_row);
        if (answer != ARCH_CODE_GO_ON || n_bytes < window_bytes)
            return answer == ARCH_CODE_FOUND;
        end = start + ARCH_MOST_FRAME_CODE * INSTRUCTION_BYTES;
    }
    return false;
}
