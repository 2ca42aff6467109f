/* SPDX-License-Identifier: MIT */
/* A library whose constructor, which runs before that of a preloaded one, changes the
 * environment. */
#include <stdlib.h>

__attribute__((constructor)) static void set(void)
{
    setenv("SET_BY_A_LIBRARY", "early", 1);
}
