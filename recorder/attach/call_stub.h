/* SPDX-License-Identifier: MIT */
/*
 * call_stub: the code that a thread of a running program executes to load a library and call one of
 * its functions.
 *
 * It is position independent and writes only to its stack. It starts with rsp at
 * CALL_STUB_PUSHED_BYTES below the thread's own, where the thread's pc is stored, and all other
 * registers unchanged; after its last instruction everything is as before. It blocks the thread's
 * signals, maps memory for the parameters and the stack of the call, and stores its address in the
 * frame. The tracer reads the frame, stops the thread, and writes the parameters. The result is in
 * the frame, too, after the memory was unmapped. The only stops are the one for the parameters and
 * one at the end.
 *
 * Invariants
 *   EC-1 Without a tracer the thread returns by itself: it waits 1 s for parameters and calls
 *        nothing, or 1 s for its result to be read.
 *   EC-2 The thread's signals are blocked from the mapping to the end; errno, vector registers and
 *        flags are restored.
 *   EC-3 If the frame has the address of memory, it is mapped: the address is cleared before
 *        munmap.
 */
#ifndef MTRACE_RECORDER_CALL_STUB_H
#define MTRACE_RECORDER_CALL_STUB_H

#include <stddef.h>
#include <stdint.h>

enum {
    CALL_STUB_RED_ZONE_BYTES = 128,
    CALL_STUB_PUSHED_BYTES = CALL_STUB_RED_ZONE_BYTES + 8,
    CALL_STUB_TEXT_BYTES = 16384,
    CALL_STUB_MAPPED_BYTES = 0x60000,
};

enum call_stub_result {
    CALL_STUB_NO_LIBRARY = 1 << 16, /* and the text of dlerror */
    CALL_STUB_NO_FUNCTION = 1 << 17,
    CALL_STUB_NO_MEMORY = 1 << 18,
};

/* Lies CALL_STUB_FRAME_AT below the initial stack pointer. The memory must not hold
 * CALL_STUB_WANTS_PARAMETERS or CALL_STUB_HAS_RESULT before: the code clears them at its end, and
 * so does the tracer if it restores the thread earlier. */
struct call_stub_frame {
    uint64_t signals;            /* blocked before */
    uint64_t state;              /* CALL_STUB_WANTS_PARAMETERS or CALL_STUB_HAS_RESULT */
    uint64_t parameters;         /* their address */
    uint64_t result, error_text; /* enum call_stub_result, or the function's */
    uint64_t is_received;        /* the tracer has the result; waits 1 s */
    uint64_t pause[2];           /* a timespec for the polling */
};

enum {
    CALL_STUB_FRAME_AT =
        16 * sizeof(uint64_t) + sizeof(struct call_stub_frame) /* below the saved registers */
};

#define CALL_STUB_WANTS_PARAMETERS UINT64_C(0x6d747231)
#define CALL_STUB_HAS_RESULT       UINT64_C(0x6d747232)

struct call_stub_parameters {
    uint64_t is_ready; /* 1 */
    uint64_t dlopen, dlsym, dlerror, errno_location;
    uint64_t library, function, argument; /* addresses in text */
    char text[CALL_STUB_TEXT_BYTES];
};

extern const uint8_t call_stub_begin[], call_stub_end[];

/* The mapped memory has room for a vector state of this size. */
enum {
    CALL_STUB_VECTOR_BYTES = 65536
};

#endif
