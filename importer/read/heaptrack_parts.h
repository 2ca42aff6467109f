/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_parts: struct heaptrack_reader: results of the first pass, used by the second.
 *
 * Everything else is described in heaptrack_reader.h.
 */
#ifndef MTRACE_IMPORTER_HEAPTRACK_PARTS_H
#define MTRACE_IMPORTER_HEAPTRACK_PARTS_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "importer/read/heaptrack_line.h"
#include "importer/read/heaptrack_text.h"

/* A `c` line. */
struct heaptrack_instant {
    uint64_t ns;
    uint64_t n_events; /* before it */
};

struct heaptrack_ip {
    uint64_t address;
    uint32_t module; /* index of its module_note, 0: none */
    uint32_t first_level, n_levels;
};

/* Numbers of strings; 0: unknown. */
struct heaptrack_level {
    uint32_t function, source, line;
};

struct heaptrack_info {
    uint64_t size;
    uint32_t trace;
};

struct heaptrack_trace {
    uint32_t root;    /* its outermost trace */
    uint8_t n_frames; /* up to 255 */
    bool has_short;   /* root: it has a stack that heaptrack did not cut, so it cut none here */
    bool has_long;    /* root: it has a stack of the length at which heaptrack cuts */
};

struct heaptrack_reader {
    const char *path;
    struct text_arena *arena;
    /* owned by the set; its names have the stack ids after definitions_build */
    struct log_input *input;
    struct heaptrack_grammar grammar;
    char *arguments;
    size_t n_arguments_bytes, arguments_capacity;
    const char **strings; /* 1-based, as the next tables except infos, instants and samples */
    uint32_t *string_modules;
    struct heaptrack_ip *ips;
    struct heaptrack_level *levels;
    struct heaptrack_info *infos;
    struct heaptrack_trace *traces;
    const char **suppressions;
    struct heaptrack_instant *instants;
    struct log_sample *samples;
    size_t strings_capacity, modules_capacity, ips_capacity, levels_capacity, infos_capacity;
    size_t instants_capacity, samples_capacity, traces_capacity, suppressions_capacity;
    size_t n_levels, n_instants, n_samples, n_suppressions;
    uint32_t *current_modules; /* raw: modules mapped now, in list order */
    uint32_t *former_modules;
    size_t n_current, n_former, current_capacity, former_capacity;
    struct heaptrack_range *ranges; /* mapped segments; sorted by address when complete */
    size_t n_ranges, ranges_capacity;
    bool is_listing_modules;
    uint64_t page_bytes;
    uint64_t n_events;
    uint64_t n_bad, first_bad_line, first_bad_offset;
    struct definitions_level *named; /* given to the definitions */
};

struct heaptrack_range {
    uint64_t start, end;
    uint32_t module;
};

/* Handles a line of the module list. ERROR_NOMEM or 0. */
int heaptrack_modules_line(struct heaptrack_reader *reader, const struct heaptrack_line *line);

/* After the last line of a list: modules that are no longer in it are unloaded. */
void heaptrack_modules_settle(struct heaptrack_reader *reader);

/* Adds the latest trace below `parent`. ERROR_NOMEM or 0. */
int heaptrack_stacks_add(struct heaptrack_reader *reader, uint64_t parent);

/* Notes that an allocation uses this trace. */
void heaptrack_stacks_use(struct heaptrack_reader *reader, uint64_t trace);

/* After the last line: marks the stacks that heaptrack cut. */
void heaptrack_stacks_settle(struct heaptrack_reader *reader);

/* The module at an address, 0: none. */
uint32_t heaptrack_modules_find(const struct heaptrack_reader *reader, uint64_t address);

#endif
