/* SPDX-License-Identifier: MIT */
/*
 * api_pools: the calls of include/mtrace.h about blocks of a program's own pools.
 *
 * Each call is one event with a stack. The importer determines which block contains which, and what
 * is freed when. The log defines a pool at its first use.
 *
 * Any thread. Async-signal-safe. Failures are counted.
 */
#ifndef MTRACE_COLLECTOR_API_POOLS_H
#define MTRACE_COLLECTOR_API_POOLS_H

#include <stddef.h>
#include <stdint.h>

uint32_t api_pool_create(const char *name);
void api_pool_alloc(uint32_t pool, const void *address, size_t size_bytes);
void api_pool_resize(uint32_t pool, const void *old_address, const void *address,
                     size_t size_bytes);
void api_pool_free(uint32_t pool, const void *address);
void api_pool_destroy(uint32_t pool);

#endif
