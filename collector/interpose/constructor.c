/* SPDX-License-Identifier: MIT */
/* constructor: what ld.so runs of this library before main; apart, so that tests link the core. */
#include "collector/life/lifecycle.h"

__attribute__((constructor)) static void construct(void)
{
    lifecycle_construct();
}
