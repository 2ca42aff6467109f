/* SPDX-License-Identifier: MIT */
#include "server/question/budget.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static sqlite3_mem_methods plain;

static _Thread_local bool is_counted;
static _Thread_local int64_t taken;
static _Thread_local int64_t most;

enum {
    TRIM_BYTES = 16 * 1024 * 1024
};

static bool take(int64_t size)
{
    if (is_counted && taken + size > BUDGET_BYTES)
        return false;
    taken += size;
    most = taken > most ? taken : most;
    return true;
}

static void *allocate(int size)
{
    void *memory = take(size) ? plain.xMalloc(size) : NULL;

    if (!memory)
        return NULL;
    taken += plain.xSize(memory) - size;
    return memory;
}

static void release(void *memory)
{
    if (memory)
        taken -= plain.xSize(memory);
    plain.xFree(memory);
}

static void *reallocate(void *memory, int size)
{
    int before = plain.xSize(memory);
    void *larger = take(size - before) ? plain.xRealloc(memory, size) : NULL;

    if (!larger)
        return NULL;
    taken += plain.xSize(larger) - size;
    return larger;
}

void budget_install(void)
{
    sqlite3_mem_methods counted;

    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK)
        return;
    counted = plain;
    counted.xMalloc = allocate;
    counted.xFree = release;
    counted.xRealloc = reallocate;
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
}

void budget_begin(void)
{
    taken = most = 0;
    is_counted = true;
}

void budget_end(void)
{
    is_counted = false;
    if (most > TRIM_BYTES)
        (void)malloc_trim(0); /* small pieces that glibc would keep */
}
