/* SPDX-License-Identifier: MIT */
/*
 * unwritten_code: stubs for processors on which code is never patched (collector/os/code_patch.h).
 *
 * mtrace-record makes patch plans for x86-64 only.
 */
#ifndef MTRACE_COLLECTOR_UNWRITTEN_CODE_H
#define MTRACE_COLLECTOR_UNWRITTEN_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ARCH_JUMP_BYTES = 4,
    ARCH_STUB_BYTES = 24,
    ARCH_NEAR_BYTES = 1 << 27,
};

static inline bool arch_write_displacement(uint8_t *at, uintptr_t end, uintptr_t target)
{
    (void)at;
    (void)end;
    (void)target;
    return false;
}

static inline bool arch_write_jump(uint8_t bytes[ARCH_JUMP_BYTES], uintptr_t from, uintptr_t target)
{
    (void)bytes;
    (void)from;
    (void)target;
    return false;
}

static inline void arch_write_stub(uint8_t bytes[ARCH_STUB_BYTES], uintptr_t sixth,
                                   uintptr_t target)
{
    (void)sixth;
    (void)target;
    __builtin_memset(bytes, 0, ARCH_STUB_BYTES);
}

#endif
