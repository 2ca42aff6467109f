/* SPDX-License-Identifier: MIT */
/*
 * target: a running process that shall load the collector: whether it can, and the addresses needed
 * for it.
 *
 * Threads: target_* one, target_report_denial any. Errors: target_look says in one line why the
 * process cannot be recorded.
 */
#ifndef MTRACE_RECORDER_TARGET_H
#define MTRACE_RECORDER_TARGET_H

#include "lib/base/error.h"
#include "recorder/attach/scratch_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A function exported by libc. */
struct target_symbol {
    uint64_t start, end;
    char name[64];
};

/* Identifies the program that a process executes, by where the kernel has put it. */
struct target_image {
    uint64_t loader_base, entry, random;
    bool is_made; /* false: an exec is in progress */
};

struct target {
    pid_t pid;
    struct target_image image;
    bool lacks_libc; /* ld.so has not mapped libc: the program has just begun, or needs none */
    uint64_t libc_base, libc_end;
    uint64_t loader_base, loader_end; /* from image.loader_base */
    uint64_t scratch_address;         /* code of ld.so that ran at the start and never runs again */
    struct scratch_code scratch_code; /* the bytes of its file there */
    uint64_t dlopen, dlsym, dlerror, errno_location;
    struct target_symbol *symbols; /* of libc; owned */
    size_t n_symbols;
};

/* Notes what the process executes. Call before anything of it is opened, so that target_is_replaced
 * can detect an exec. */
void target_begin(pid_t pid, struct target *ret_target);

/* `library`: the library to load. */
int target_look(struct target *target, const char *library, struct error *err);

/* The process is in an exec, or executes another program than at target_begin. */
bool target_is_replaced(const struct target *looked);

/* The libc function that has this address; NULL: not exported. */
const char *target_libc_function(const struct target *target, uint64_t address);

void target_done(struct target *target);

/* Fills err with the reason why the kernel denies access to a process (ptrace denial), and the
 * remedy. what: "traced", "looked at". Mentions a missing CAP_SYS_PTRACE to root, as in most
 * containers. */
int target_report_denial(pid_t pid, const char *what, struct error *err);

#endif
