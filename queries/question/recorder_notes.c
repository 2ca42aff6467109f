/* SPDX-License-Identifier: MIT */
#include "queries/question/recorder_notes.h"

#include "queries/question/command.h"
#include "queries/question/query.h"

#include <stdbool.h>
#include <string.h>

static const char no_threads[] =
    "heaptrack records no threads: every block seems to be one thread's";
static const char no_chains[] = "heaptrack records a realloc as a free and an allocation: it has "
                                "no chains";

static const char no_addresses[] =
    "this recording has no addresses, so heaps are unknown; 'heaptrack --raw' keeps them";
static const char no_parts[] =
    "heaptrack records no usable sizes and no heaps: slack, overhead and top are unknown";

static const struct note {
    const char *command;
    const char *text;
    bool is_about_addresses; /* holds only where blocks have none */
} notes[] = {
    {"threads", no_threads, false},
    {"flows", no_threads, false},
    {"temporary",
     "heaptrack records no threads: other threads' allocations hide temporary blocks here", false},
    {"mmaps", "heaptrack records no mappings", false},
    {"mallopts", "heaptrack records no mallopt calls", false},
    {"allocation-failures", "heaptrack records no failed calls", false},
    {"reallocs", no_chains, false},
    {"realloc-chains", no_chains, false},
    {"fragmentation", no_addresses, true},
    {"fragmentation", no_parts, false},
    {"pinning", no_addresses, true},
    {"holes", no_addresses, true},
    {"holes", no_parts, false},
    {"heap-map", no_addresses, true},
    {"heap-map", no_parts, false},
    {"block", "this recording has no addresses; 'heaptrack --raw' keeps them", true},
};

static const struct note *find_note(const char *command, bool has_addresses)
{
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        if (strcmp(notes[i].command, command) == 0
            && !(notes[i].is_about_addresses && has_addresses))
            return &notes[i];
    }
    return NULL;
}

int recorder_notes_print(const struct query *query, struct error *err)
{
    const struct rundb *database = &query->database;
    const struct note *note;
    int64_t is_heaptrack = 0;
    int64_t has_addresses = 0;
    int rc = rundb_get_int64(
        database, "SELECT count(*) FROM meta WHERE key = 'recorder' AND value = 'heaptrack'",
        &is_heaptrack, err);

    if (rc != 0 || !is_heaptrack)
        return rc;
    rc = rundb_get_int64(database,
                         "SELECT count(*) FROM meta WHERE key = 'pairing' AND value = 'address'",
                         &has_addresses, err);
    note = rc == 0 ? find_note(query->options->command->name, has_addresses != 0) : NULL;
    if (note)
        query_remark(query, "%s", note->text);
    return rc;
}
