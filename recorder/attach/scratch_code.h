/* SPDX-License-Identifier: MIT */
/*
 * scratch_code: code of ld.so that ran at the start of the process and never runs again.
 *
 * ld.so's entry point is `mov %rsp,%rdi; call _dl_start`, its only call. That function begins at
 * the call's target and ends where its unwind table says; the code after it belongs to other
 * functions.
 *
 * Threads: any. Errors: false.
 */
#ifndef MTRACE_RECORDER_SCRATCH_CODE_H
#define MTRACE_RECORDER_SCRATCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SCRATCH_CODE_BYTES = 512
};

struct scratch_code {
    uint64_t address; /* in the file; add the load address of ld.so */
    uint8_t bytes[SCRATCH_CODE_BYTES];
};

/* For an ld.so for x86-64. False: it is not one, it has a different form, or the function has fewer
 * than SCRATCH_CODE_BYTES. */
bool scratch_code_find(const char *path, struct scratch_code *ret_code);

#endif
