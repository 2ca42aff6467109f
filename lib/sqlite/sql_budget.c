/* SPDX-License-Identifier: MIT */
#include "lib/sqlite/sql_budget.h"

#include "lib/sqlite/database_guard.h"

#include <malloc.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static sqlite3_mem_methods plain;

static _Thread_local bool is_counted;
static _Thread_local int64_t taken;
static _Thread_local int64_t most;

/* For the statement that the thread prepares. */
static _Thread_local struct {
    bool is_going_on;
    const struct database_stop *stop;
    int64_t taken_before;
    unsigned n_requests;
    enum sql_budget_end end;
} preparing;

enum {
    TRIM_BYTES = 16 * 1024 * 1024,
    REQUESTS_PER_LOOK = 64 /* allocations between reads of the clock: some microseconds */
};

/* Once it fails it fails until the end: SQLite continues where it can do without memory. */
static bool may_prepare(int64_t size)
{
    if (preparing.end == SQL_BUDGET_KEPT
        && taken + size - preparing.taken_before > SQL_BUDGET_PREPARE_BYTES)
        preparing.end = SQL_BUDGET_EXCEEDED;
    if (preparing.end == SQL_BUDGET_KEPT && preparing.n_requests++ % REQUESTS_PER_LOOK == 0
        && database_stop_is_due(preparing.stop))
        preparing.end = SQL_BUDGET_STOPPED;
    return preparing.end == SQL_BUDGET_KEPT;
}

static bool take(int64_t size)
{
    if (is_counted && taken + size > SQL_BUDGET_BYTES)
        return false;
    if (preparing.is_going_on && !may_prepare(size))
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

static void install(void)
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

void sql_budget_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, install);
}

void sql_budget_begin(void)
{
    taken = most = 0;
    is_counted = true;
}

void sql_budget_end(void)
{
    is_counted = false;
    if (most > TRIM_BYTES)
        (void)malloc_trim(0); /* small pieces that glibc would keep */
}

void sql_budget_begin_preparing(const struct database_stop *stop)
{
    preparing.stop = stop;
    preparing.taken_before = taken;
    preparing.n_requests = 0;
    preparing.end = SQL_BUDGET_KEPT;
    preparing.is_going_on = true;
}

enum sql_budget_end sql_budget_end_preparing(void)
{
    preparing.is_going_on = false;
    return preparing.end;
}
