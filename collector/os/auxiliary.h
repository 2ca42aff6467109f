/* SPDX-License-Identifier: MIT */
/*
 * auxiliary: values of the auxiliary vector, by libc's reserved name.
 *
 * A program may define its own `getauxval`.
 */
#ifndef MTRACE_COLLECTOR_AUXILIARY_H
#define MTRACE_COLLECTOR_AUXILIARY_H

#include <sys/auxv.h>

/* No header declares it.
 * NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
unsigned long __getauxval(unsigned long type);

/* 0: there is no such value. */
static inline unsigned long auxiliary_value(unsigned long type)
{
    return __getauxval(type);
}

#endif
