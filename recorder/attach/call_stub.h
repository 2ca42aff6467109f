/* SPDX-License-Identifier: MIT */
/*
 * entry_code: what a thread of a running program executes so that a library is loaded and one of its functions called.
 *
 * Model:   instructions that may stand at any address and write to no memory but their stack. The thread begins them with
 *          rsp at CALL_STUB_FRAME_BYTES below where it was, where its own pc is, and all other registers as they were; behind the last
 *          instruction everything is as it was. They block the thread's signals, map some memory, which gets the parameters and has the stack of
 *          the call, and say in their frame where; whoever traces the thread reads the frame, stops it, and writes the parameters. What came of the
 *          call they leave in the frame, too, when nothing is mapped any more. No stop is needed but the one for the parameters, and one at the end.
 * Invariants
 *   EC-1 A thread that nobody traces any more comes to the end by itself: without parameters it waits for a second, and calls nothing; with them it
 *        waits as long for who hears what came of it.
 *   EC-2 Signals of the thread are blocked from the mapping to its end; errno, vector registers and flags are as before.
 *   EC-3 Where the frame says that there is memory, it is mapped: it ceases to say so before that is unmapped.
 *   EC-4 At its end the thread has the policy of scheduling that the frame says, if it says one, and the timer slack: who lifted it may be gone.
 */
#ifndef MTRACE_RECORDER_CALL_STUB_H
#define MTRACE_RECORDER_CALL_STUB_H

#include <stddef.h>
#include <stdint.h>

enum {
    CALL_STUB_RED_ZONE_BYTES = 128,
    CALL_STUB_FRAME_BYTES = CALL_STUB_RED_ZONE_BYTES + 8,
    CALL_STUB_TEXT_BYTES = 16384,
    CALL_STUB_MAPPED_BYTES = 0x60000,
};

enum call_stub_result {
    CALL_STUB_NO_LIBRARY = 1 << 16, /* and the text of dlerror */
    CALL_STUB_NO_FUNCTION = 1 << 17,
    CALL_STUB_NO_MEMORY = 1 << 18,
};

/* CALL_STUB_FRAME_AT below the stack pointer with which it begins. Whatever stood there before is no CALL_STUB_ASKS or CALL_STUB_SAID: the code takes
 * them away at its end, as does who leads the thread back before. */
struct call_stub_frame {
    uint64_t signals; /* that were blocked */
    uint64_t
        state; /* CALL_STUB_ASKS: for parameters; CALL_STUB_SAID: the result is there, and nothing mapped */
    uint64_t parameters;         /* their address */
    uint64_t result, error_text; /* of enum call_stub_result, or the function's; an address or 0 */
    uint64_t is_received;        /* it waits a second for this */
    uint64_t pause[2];           /* a timespec, of the code: a part of the wait */
    uint64_t
        policy; /* of urgency.h, plus 1; 0: all stays as it is. Written before it begins, as is what follows; priority is 0 */
    uint64_t priority, timer_slack_ns;
};

enum {
    CALL_STUB_FRAME_AT = 16 * sizeof(uint64_t)
                         + sizeof(struct call_stub_frame) /* below the registers that are saved */
};

#define CALL_STUB_ASKS UINT64_C(0x6d747231)
#define CALL_STUB_SAID UINT64_C(0x6d747232)

struct call_stub_parameters {
    uint64_t is_ready; /* 1 */
    uint64_t dlopen, dlsym, dlerror, errno_location;
    uint64_t library, function, argument; /* addresses in text */
    char text[CALL_STUB_TEXT_BYTES];
};

extern const uint8_t call_stub_begin[], call_stub_end[];

/* A vector state of so many bytes has room in what is mapped. */
enum {
    CALL_STUB_VECTOR_BYTES = 65536
};

#endif
