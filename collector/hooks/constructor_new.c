/* SPDX-License-Identifier: MIT */
/* constructor_new: what ld.so calls of libmtrace-new.so before what constructor.c has. */
#include "collector/hooks/operator_table.h"
#include "collector/os/loader_lock.h"

__attribute__((constructor)) static void construct(void)
{
    (void)loader_lock_find();
    operator_table_find();
}
