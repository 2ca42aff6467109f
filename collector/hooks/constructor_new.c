/* SPDX-License-Identifier: MIT */
/* constructor_new: the constructor of libmtrace-new.so, which ld.so calls before that of
 * constructor.c. */
#include "collector/hooks/operator_table.h"
#include "collector/os/loader_lock.h"

__attribute__((constructor)) static void construct(void)
{
    (void)loader_lock_find();
    operator_table_find();
}
