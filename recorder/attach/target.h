/* SPDX-License-Identifier: MIT */
/*
 * target: a process that shall load the collector while it runs: whether it can, and where in it is what that takes.
 *
 * Threads: one. Failure: target_look says in one line why the process cannot be recorded.
 */
#ifndef MTRACE_RECORDER_TARGET_H
#define MTRACE_RECORDER_TARGET_H

#include "lib/base/error.h"
#include "recorder/attach/scratch_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A function that libc exports. */
struct target_symbol {
    uint64_t start, end;
    char name[64];
};

/* Which program a process executes: where the kernel has put it. */
struct target_image {
    uint64_t loader_base, entry, random;
    bool is_made; /* false: it is in an exec */
};

struct target {
    pid_t pid;
    struct target_image image;
    bool lacks_libc; /* ld.so had mapped none: the program had just begun, or needs none */
    uint64_t libc_base, libc_end;
    uint64_t loader_base, loader_end; /* where image.loader_base says */
    uint64_t once_code; /* instructions of ld.so that ran when the process began, and never again */
    struct scratch_code once; /* what its file has there */
    uint64_t dlopen, dlsym, dlerror, errno_location;
    struct target_symbol *symbols; /* of libc; owned */
    size_t n_symbols;
};

/* What the process executes now: before anything of it is opened, so that target_is_replaced tells of it. */
void target_begin(pid_t pid, struct target *ret_target);

/* `library`: what shall be loaded. */
int target_look(struct target *target, const char *library, struct error *err);

/* The process is in an exec, or executes another program than when it was looked at. */
bool target_is_replaced(const struct target *looked);

/* The function of libc that has this address; NULL: it is not exported. */
const char *target_libc_function(const struct target *target, uint64_t address);

void target_done(struct target *target);

#endif
