/* SPDX-License-Identifier: MIT */
/*
 * log_record: decodes the words of an EVENTS payload, or of a fallback record, as struct event.
 *
 * log_record_next walks a payload and stops at records that are events. Time bases, threads and
 * groups are state of the reader; unknown kinds are skipped by their length (LF-5). A realloc
 * record is two events; log_record_half selects one.
 *
 * Invariants
 *   RC-1 No word outside [at, end) is read, whatever the words contain.
 *   RC-2 A record that log_record_next returned has all the words that its kind needs.
 *   RC-3 An invalid usable size counts as unknown. Records that no allocator or kernel can cause
 *        are no events: a block at address 0, a mapping inside a page, a heap that ends outside of
 *        the address space, a block or mapping of more than half of it, an alignment beyond it.
 *
 * Threads: one per reader.
 */
#ifndef MTRACE_IMPORTER_LOG_RECORD_H
#define MTRACE_IMPORTER_LOG_RECORD_H

#include "importer/log/log_names.h"
#include "importer/model/event.h"
#include "lib/abi/log_format.h"

#include <stdint.h>

enum log_record_half {
    LOG_RECORD_WHOLE,
    LOG_RECORD_BEGIN, /* of a realloc: the old block is freed */
    LOG_RECORD_END,   /* the new block is allocated */
};

struct log_record {
    const uint64_t *words;
    uint64_t ticks;
    uint32_t thread; /* of the log */
    uint32_t group;  /* of the log */
};

struct log_record_reader {
    const uint64_t *at, *end;
    uint64_t base_ticks;
    uint32_t thread;
    uint32_t group;        /* LOG_GROUP_ROOT at the beginning */
    uint64_t n_unknown;    /* records of unknown kinds */
    uint64_t n_impossible; /* RC-3 */
};

enum log_record_found {
    LOG_RECORD_FOUND,
    LOG_RECORD_NO_MORE,
    LOG_RECORD_DAMAGED, /* a record extends beyond the payload; `at` is its place */
};

/* Returns the next record that is an event. */
enum log_record_found log_record_next(struct log_record_reader *reader, struct log_record *ret);

/* True for a realloc with an old and a new block, which is two events. */
bool log_record_is_pair(const struct log_record *record);

/* Bytes of the block that it allocates; elided blocks: their bytes plus their number; 0: it
 * allocates none. */
uint64_t log_record_claimed_bytes(const struct log_record *record);

/* Time of the first half of a pair. */
uint64_t log_record_begin_ticks(const struct log_record *record);

/* True if the event frees a block or removes a mapping. */
bool log_record_ends_block(const struct log_record *record, enum log_record_half half);

/* The group, which is in the time bits of a fallback record. */
uint32_t log_record_fallback_group(const uint64_t *words);

/* Fills everything except time_ns, pair and, unless the record contains one, group. `thread` is the
 * database id of record->thread. n_lost counts nodes that the log lacks. */
void log_record_decode(const struct log_record *record, enum log_record_half half,
                       const struct log_names *names, uint32_t thread, uint64_t *n_lost,
                       struct event *ret);

/* ---- fields that records of events have in common (lib/abi/log_format.h) ---- */

/* Inline, because every event reads all of them. The caller checks that the words exist. */
#define EVENT_WORDS_ADDRESS_MASK ((1ull << LOG_ADDRESS_BITS) - 1)
#define EVENT_WORDS_SIZE_MASK    ((1ull << LOG_SIZE_BITS) - 1)

static inline unsigned log_record_kind(const uint64_t *words)
{
    return words[0] & 255;
}

static inline uint32_t log_record_node(const uint64_t *words)
{
    return (uint32_t)(words[0] >> 32);
}

static inline uint64_t log_record_address(const uint64_t *words)
{
    return words[1] & EVENT_WORDS_ADDRESS_MASK;
}

/* Ticks since the base. */
static inline uint64_t log_record_time(const uint64_t *words)
{
    return ((words[0] >> 8) & 0xffffff) | (words[1] >> LOG_ADDRESS_BITS) << 24;
}

/* Narrow records of blocks: requested bytes, additional usable bytes, call and flags. */
static inline uint64_t log_record_size(const uint64_t *words)
{
    return words[2] & EVENT_WORDS_SIZE_MASK;
}

static inline uint64_t log_record_slack(const uint64_t *words)
{
    return (words[2] >> LOG_SIZE_BITS) & ((1u << LOG_SLACK_BITS) - 1);
}

static inline uint64_t log_record_call_flags(const uint64_t *words)
{
    return words[2] >> (LOG_SIZE_BITS + LOG_SLACK_BITS);
}

#endif
