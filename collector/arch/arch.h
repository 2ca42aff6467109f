/* SPDX-License-Identifier: MIT */
/*
 * arch: what differs between processors: registers and frames of the unwinder, the switch of the
 * stack, the counter, system calls, loops over bytes. A port writes one header with the names of
 * arch_x86_64.h and one source file, and nop.c's jump (docs/porting.md).
 */
#ifndef MTRACE_COLLECTOR_ARCH_H
#define MTRACE_COLLECTOR_ARCH_H

#if defined(__x86_64__)
#    include "collector/arch/arch_x86_64.h"
#elif defined(__aarch64__)
#    include "collector/arch/arch_aarch64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#    include "collector/arch/arch_riscv64.h"
#else
#    error "this architecture has no header in collector/arch"
#endif

#ifndef ARCH_MOST_PAGE_BYTES
#    define ARCH_MOST_PAGE_BYTES 65536 /* the largest that a kernel may have */
#endif

#endif
