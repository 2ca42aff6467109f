/* SPDX-License-Identifier: MIT */
/*
 * moved_code: may the first instructions of a function stand elsewhere, so that a jump has room in
 * their place? And how are they written there?
 *
 * Model:   whole instructions from the entry on (behind an endbr64, which stays) until a near jump has
 *          room. Where they are put is not known yet: what is relative to the instruction pointer
 *          becomes a displacement of 32 bits with the address it shall reach (struct moved_fix), and the
 *          way back behind them is one such, too.
 * Invariants
 *   MC-1 What is accepted ends at an instruction's end, inside the function, and nothing of the
 *        function jumps between its first and its last byte.
 *   MC-2 No call is moved: no return address ever lies in moved code.
 *   MC-3 Nothing is read outside of the bytes given.
 * Failure: a text that says why not; always, when Zydis, which decodes instructions, was not there for the
 *          build or cannot be loaded now.
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

/* The 4 bytes at `at` shall be target - (address of `end`). */
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
    uint8_t expected[TRAMPOLINE_MAX_EXPECTED]; /* what is there, and moves */
    uint8_t bytes[TRAMPOLINE_MAX_BYTES];       /* what stands elsewhere, the way back included */
    struct moved_fix fixes[TRAMPOLINE_MAX_FIXES];
};

/* A function of n bytes at an address (of the file: unrelocated). NULL: it may; else why not. */
const char *trampoline_make(const uint8_t *function, size_t n, uint64_t address,
                            struct trampoline *ret_moved);

/* Does a branch of this function lead between the first and the last byte of what moves? True also when
 * not all of it can be decoded. */
bool trampoline_is_hit_by(const uint8_t *function, size_t n, uint64_t address,
                          const struct trampoline *moved);

/* Tells every address that an instruction of the function names: of a branch, a call, an operand relative
 * to the instruction pointer; until one is answered by true. Was one? */
typedef bool trampoline_visit(uint64_t target, void *context);
bool trampoline_has_reference(const uint8_t *function, size_t n, uint64_t address,
                              trampoline_visit *visit, void *context);

/*
 * Where that may be so: the next place in `text` from *at on whose bytes could be a branch with a
 * displacement of 8 or 32 bits into one of the n_moved codes. None is missed, whatever the bytes are; many a
 * one is no branch. ascending: by address. Which code it is, or n_moved; *at: behind the place.
 */
size_t trampoline_find_suspect(const uint8_t *text, size_t n, uint64_t address,
                               const struct trampoline *const *ascending, size_t n_moved,
                               size_t *at);

#endif
