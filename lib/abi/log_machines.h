/* SPDX-License-Identifier: MIT */
/*
 * log_machines: the processors that a log can be of.
 *
 * A port adds its number and the row of its names here, and the condition by which a compiler for
 * it is known.
 */
#ifndef MTRACE_LIB_LOG_MACHINES_H
#define MTRACE_LIB_LOG_MACHINES_H

#include <stdint.h>

/* What ELF calls its machine (e_machine), so that every number names one. With
 * log_header.word_bytes it tells the ABI: MIPS n64 from n32 and o32, x32 from x86-64, RISC-V of 32
 * and 64 bits. */
enum log_arch {
    LOG_ARCH_I386 = 3,
    LOG_ARCH_MIPS = 8,
    LOG_ARCH_ARM = 40,
    LOG_ARCH_X86_64 = 62,
    LOG_ARCH_AARCH64 = 183,
    LOG_ARCH_RISCV = 243,
};

/* X(machine, bytes of a word, name in databases and messages, Debian's triplet). The triplet is in
 * the path of the collector, its first part in the name of a package (cmake/install.cmake). NULL:
 * there is no collector. */
#define LOG_MACHINES(X)                                        \
    X(LOG_ARCH_X86_64, 8, "x86_64", "x86_64-linux-gnu")        \
    X(LOG_ARCH_X86_64, 4, "x32", NULL)                         \
    X(LOG_ARCH_I386, 4, "i386", "i386-linux-gnu")              \
    X(LOG_ARCH_AARCH64, 8, "aarch64", "aarch64-linux-gnu")     \
    X(LOG_ARCH_ARM, 4, "arm", "arm-linux-gnueabihf")           \
    X(LOG_ARCH_RISCV, 8, "riscv64", "riscv64-linux-gnu")       \
    X(LOG_ARCH_RISCV, 4, "riscv32", NULL)                      \
    X(LOG_ARCH_MIPS, 8, "mips64el", "mips64el-linux-gnuabi64") \
    X(LOG_ARCH_MIPS, 4, "mipsel", NULL)

/* The machine for which this is compiled. */
static inline uint16_t log_own_arch(void)
{
#if defined(__x86_64__)
    return LOG_ARCH_X86_64;
#elif defined(__i386__)
    return LOG_ARCH_I386;
#elif defined(__aarch64__)
    return LOG_ARCH_AARCH64;
#elif defined(__arm__)
    return LOG_ARCH_ARM;
#elif defined(__riscv)
    return LOG_ARCH_RISCV;
#elif defined(__mips__)
    return LOG_ARCH_MIPS;
#else
#    error "this architecture has no number in enum log_arch"
#endif
}

#endif
