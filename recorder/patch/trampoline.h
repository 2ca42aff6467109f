/* SPDX-License-Identifier: MIT */
/*
 * trampoline: can the first instructions of a function be moved to make room for a jump, and how
 * are they rewritten?
 *
 * Whole instructions from the entry (after an endbr64, which stays) are moved until a near jump
 * fits. Their new address is not known yet: operands relative to the instruction pointer become
 * 32-bit displacements with a target address (struct moved_fix), and so does the jump back after
 * them.
 *
 * Invariants
 *   MC-1 The moved part ends at an instruction boundary inside the function, and no jump in the
 *        function leads into it.
 *   MC-2 No call is moved, so no return address lies in moved code.
 *   MC-3 Nothing outside the given bytes is read.
 *
 * Errors: a text with the reason; always if Zydis, the instruction decoder, was not built in or
 * cannot be loaded.
 */
#ifndef MTRACE_RECORDER_TRAMPOLINE_H
#define MTRACE_RECORDER_TRAMPOLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TRAMPOLINE_JUMP_BYTES = 5,
    TRAMPOLINE_MAX_EXPECTED = 20, /* four bytes and the longest instruction */
    TRAMPOLINE_MAX_BYTES = 56,
    TRAMPOLINE_MAX_FIXES = 6,
};

/* The 4 bytes at `at` must be set to target - (address of `end`). */
struct moved_fix {
    uint8_t at;
    uint8_t end;
    uint64_t target;
};

struct trampoline {
    uint64_t address; /* where the jump goes */
    uint8_t n_expected;
    uint8_t n_bytes;
    uint8_t n_fixes;
    uint8_t expected[TRAMPOLINE_MAX_EXPECTED]; /* the original bytes, which move */
    uint8_t bytes[TRAMPOLINE_MAX_BYTES];       /* the moved bytes, with the jump back */
    struct moved_fix fixes[TRAMPOLINE_MAX_FIXES];
};

/* For a function of n bytes at an unrelocated address. NULL: success; else the reason. */
const char *trampoline_make(const uint8_t *function, size_t n, uint64_t address,
                            struct trampoline *ret_moved);

/* A branch of this function leads between the first and the last moved byte. True also if the
 * function cannot be decoded completely. */
bool trampoline_is_hit_by(const uint8_t *function, size_t n, uint64_t address,
                          const struct trampoline *moved);

/* Calls `visit` for each address that an instruction names (branch, call, or operand relative to
 * the instruction pointer) until it returns true. The result says whether it did. */
typedef bool trampoline_visit(uint64_t target, void *context);
bool trampoline_has_reference(const uint8_t *function, size_t n, uint64_t address,
                              trampoline_visit *visit, void *context);

/*
 * Finds the next place in `text`, from *at, whose bytes could be a branch with an 8-bit or 32-bit
 * displacement into one of the n_moved trampolines, which are sorted by address. None is missed,
 * but many are not branches. Returns the index of the trampoline, or n_moved; *at is then after the
 * place.
 */
size_t trampoline_find_suspect(const uint8_t *text, size_t n, uint64_t address,
                               const struct trampoline *const *ascending, size_t n_moved,
                               size_t *at);

#endif
