/* SPDX-License-Identifier: MIT */
#include "importer/totals/facts_parts.h"
#include "importer/write/database.h"
#include "importer/write/total_tables.h"

#include <sqlite3.h>

/* NULL: not known. */
static const char *name_of(unsigned by, const char *of_process)
{
    static const char *const names[] = {[LOG_SWITCH_SIGNAL] = "signal",
                                        [LOG_SWITCH_CONTROL] = "control",
                                        [LOG_SWITCH_TIME] = "time",
                                        [LOG_SWITCH_SIZE] = "size",
                                        [LOG_SWITCH_PROGRAM] = "program"};

    if (by == WINDOWS_BY_PROCESS)
        return of_process;
    return by < sizeof names / sizeof *names ? names[by] : NULL;
}

/* Share of the row's time that was recorded. */
static double recorded_share(const struct window *window, uint64_t process_end_ns)
{
    uint64_t end_ns = window->is_open ? process_end_ns : window->end_ns;

    return window->paused_ns && end_ns > window->start_ns + window->paused_ns
               ? 1 - (double)window->paused_ns / (double)(end_ns - window->start_ns)
               : 1;
}

/* NULL: the window is still open, or its end is not known. */
static const char *end_of(const struct statistics *facts, uint32_t process,
                          const struct window *window)
{
    const struct definitions_process *defined = &facts->definitions->processes[process];

    if (!window->is_open)
        return name_of(window->ended_by, NULL);
    return !statistics_has_ended(facts, process) || definitions_ended_by(defined, "running")
                   || definitions_ended_by(defined, "unseen")
               ? NULL
               : "end";
}

static int write_window(sqlite3_stmt *insert, uint64_t id, uint32_t process,
                        const struct window *window, const struct statistics *facts,
                        struct error *err)
{
    uint64_t process_end_ns = facts->processes[process].last_ns;
    bool has_allocations =
        window->first_allocation <= window->last_allocation && window->allocated_blocks;

    return database_insert(insert, err, "uuumttuuuumms", id, (uint64_t)process, window->start_ns,
                           window->is_open ? UINT64_MAX : window->end_ns,
                           name_of(window->started_by, "start"), end_of(facts, process, window),
                           window->allocated_blocks, window->allocated_bytes, window->leaked_blocks,
                           window->leaked_bytes,
                           has_allocations ? window->first_allocation : UINT64_MAX,
                           has_allocations ? window->last_allocation : UINT64_MAX,
                           recorded_share(window, process_end_ns));
}

int window_rows_write(sqlite3 *db, const struct statistics *facts, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    uint64_t id = 1;
    int code = database_prepare(
        db, "INSERT INTO windows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    for (uint32_t process = 1; code == 0 && process <= facts->definitions->n_processes; process++) {
        const struct windows *windows = &facts->processes[process].windows;
        for (size_t i = 0; code == 0 && i < windows->n; i++)
            code = write_window(insert, id++, process, &windows->list[i], facts, err);
    }
    sqlite3_finalize(insert);
    return code;
}
