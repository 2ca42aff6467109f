/* SPDX-License-Identifier: MIT */
/*
 * once_code: code of ld.so that ran when the process began, and that nobody calls again.
 *
 * Model:   ld.so's entry point is `mov %rsp,%rdi; call _dl_start`, its only call. That function begins where the call leads, and ends where its unwind
 *          table says: what is behind it is somebody else's.
 * Threads: any. Failure: false.
 */
#ifndef MTRACE_RECORDER_SCRATCH_CODE_H
#define MTRACE_RECORDER_SCRATCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SCRATCH_CODE_BYTES = 512
};

struct scratch_code {
    uint64_t address; /* in the file; where ld.so is loaded is to be added */
    uint8_t bytes[SCRATCH_CODE_BYTES];
};

/* Of an ld.so for x86-64. False: it is none, or is made in another way, or the function has less than SCRATCH_CODE_BYTES. */
bool scratch_code_find(const char *path, struct scratch_code *ret_code);

#endif
