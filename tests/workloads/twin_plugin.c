/* SPDX-License-Identifier: MIT */
/*
 * Compiled twice with different names, so that both libraries have the same layout. Opened one
 * after the other they land at the same address, and only the time identifies the library.
 */
#include "tests/workloads/workload.h"

#ifndef TWIN
#    error "TWIN is the name of the function"
#endif
#define TWIN_STRING_(name) #name
#define TWIN_STRING(name)  TWIN_STRING_(name)

void *TWIN(unsigned n);
int twin_line(void);
const char *twin_name(void);

void *TWIN(unsigned n)
{
    return keep(malloc(OWN_BYTES(n))); /* the planted line */
}

int twin_line(void)
{
    return __LINE__ - 5;
}

const char *twin_name(void)
{
    return TWIN_STRING(TWIN);
}
