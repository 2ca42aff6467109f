/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_line: parses one line of a heaptrack recording.
 *
 * A line is a letter, a space, and fields in lower-case hex. The fields depend on the version and
 * on whether the file is raw, so the grammar keeps both. It also counts the lines that are numbered
 * implicitly, so that two passes over a file accept the same lines.
 *
 * Invariants
 *   HL-1 An invalid string, ip, trace or info still counts, so that later ones keep their numbers.
 *        It has is_bad, and its fields are 0.
 *   HL-2 In a valid ALLOC or FREE, `info` is below n_infos when it is used.
 *
 * Threads: one per grammar.
 */
#ifndef MTRACE_IMPORTER_HEAPTRACK_LINE_H
#define MTRACE_IMPORTER_HEAPTRACK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAPTRACK_NEWEST_VERSION = 3
};

/* A block must fit a live_block, a time its alloc_ns. */
#define HEAPTRACK_MAX_BYTES (UINT64_C(1) << 47)
#define HEAPTRACK_MAX_MS    (UINT64_C(63072000000))

enum heaptrack_kind {
    HEAPTRACK_OTHER, /* ignored */
    HEAPTRACK_VERSION,
    HEAPTRACK_EXECUTABLE,
    HEAPTRACK_ARGUMENTS,
    HEAPTRACK_ARGUMENTS_MORE, /* continues an argument that contains a newline */
    HEAPTRACK_SYSTEM,         /* a page bytes */
    HEAPTRACK_ATTACHED,
    HEAPTRACK_SUPPRESSION, /* text: a line of the program's __lsan_default_suppressions */
    HEAPTRACK_NO_MODULES,
    HEAPTRACK_MODULE, /* text path, a base; fields: address and size of each segment */
    HEAPTRACK_STRING,
    HEAPTRACK_IP,    /* a address, b module; fields: function [file line] of each level */
    HEAPTRACK_TRACE, /* a address or ip, b parent */
    HEAPTRACK_INFO,  /* a size, b trace */
    HEAPTRACK_ALLOC, /* a size, b trace, c address; or info */
    HEAPTRACK_FREE,  /* c address; or info */
    HEAPTRACK_CLOCK, /* a ms */
    HEAPTRACK_MEMORY /* a pages */
};

struct heaptrack_grammar {
    uint32_t tool_version; /* 1.4.0 is 0x10400 */
    uint32_t file_version; /* may be newer than known */
    bool has_version, is_raw, has_executable, has_arguments;
    bool is_in_arguments;
    uint32_t n_strings, n_ips, n_traces, n_infos;
    uint64_t last_ms;
};

struct heaptrack_fields {
    const char *at, *end;
};

struct heaptrack_line {
    enum heaptrack_kind kind;
    bool is_bad;
    uint64_t a, b, c;
    uint32_t info;
    const char *text; /* not NUL-terminated */
    size_t text_bytes;
    struct heaptrack_fields fields;
};

/* The recording contains addresses of blocks. */
static inline bool heaptrack_grammar_has_addresses(const struct heaptrack_grammar *grammar)
{
    return grammar->is_raw || grammar->file_version == 0;
}

void heaptrack_line_parse(struct heaptrack_grammar *grammar, const char *text, size_t n_bytes,
                          struct heaptrack_line *ret);

/* Reads the next field; false if there is none or it is not a number. */
bool heaptrack_line_field(struct heaptrack_fields *fields, uint64_t *ret);

#endif
