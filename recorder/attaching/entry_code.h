/* SPDX-License-Identifier: MIT */
/*
 * entry_code: what a thread of a running program executes so that a library is loaded and one of its functions called.
 *
 * Model:   instructions that may stand at any address and write to no memory but their stack. The thread begins them with
 *          rsp at ENTRY_CODE_FRAME_BYTES below where it was, where its own pc is, and all other registers as they were; behind the last
 *          instruction everything is as it was. They map some memory, which has the parameters and the stack of the call. They say where by a
 *          system call that asks for nothing (getpid), whose registers the tracer sees; what came of the call they leave in that memory.
 * Invariants
 *   EC-1 A thread that nobody traces any more comes to the end by itself: if it is left alone before the first word, nothing is called.
 *   EC-2 Signals of the thread are blocked from the mapping to its end; errno, vector registers and flags are as before.
 */
#ifndef MTRACE_RECORDER_ENTRY_CODE_H
#define MTRACE_RECORDER_ENTRY_CODE_H

#include <stddef.h>
#include <stdint.h>

enum {
    ENTRY_CODE_RED_ZONE_BYTES = 128,
    ENTRY_CODE_FRAME_BYTES = ENTRY_CODE_RED_ZONE_BYTES + 8,
    ENTRY_CODE_TEXT_BYTES = 16384,
    ENTRY_CODE_MAPPED_BYTES = 0x60000,
};

/* rdi of the word; rsi: the address of the parameters. */
#define ENTRY_CODE_ASKS 0x6d74726163653031u

enum entry_code_result {
    ENTRY_CODE_NO_LIBRARY = 1 << 16, /* and the text of dlerror */
    ENTRY_CODE_NO_FUNCTION = 1 << 17,
};

struct entry_code_parameters {
    uint64_t is_ready; /* 1 */
    uint64_t dlopen, dlsym, dlerror, errno_location;
    uint64_t library, function, argument; /* addresses in text */
    uint64_t result,
        error_text; /* said: of enum entry_code_result, or the function's; an address or 0 */
    uint64_t has_said, is_heard; /* it waits a second for the latter */
    uint64_t pause[2];           /* a timespec, of the code: a part of the wait */
    char text[ENTRY_CODE_TEXT_BYTES];
};

extern const uint8_t entry_code_begin[], entry_code_end[];

/* A vector state of so many bytes has room in what is mapped. */
enum {
    ENTRY_CODE_VECTOR_BYTES = 65536
};

#endif
