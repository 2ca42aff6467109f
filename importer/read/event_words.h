/* SPDX-License-Identifier: MIT */
/*
 * event_words: the fields that records of events have in common (lib/abi/log_format.h).
 *
 * Inline, because every event reads all of them. The caller checks that the words exist.
 */
#ifndef MTRACE_IMPORTER_EVENT_WORDS_H
#define MTRACE_IMPORTER_EVENT_WORDS_H

#include "lib/abi/log_format.h"

#include <stdint.h>

#define EVENT_WORDS_ADDRESS_MASK ((1ull << LOG_ADDRESS_BITS) - 1)
#define EVENT_WORDS_SIZE_MASK    ((1ull << LOG_SIZE_BITS) - 1)

static inline unsigned event_words_kind(const uint64_t *words)
{
    return words[0] & 255;
}

static inline uint32_t event_words_node(const uint64_t *words)
{
    return (uint32_t)(words[0] >> 32);
}

static inline uint64_t event_words_address(const uint64_t *words)
{
    return words[1] & EVENT_WORDS_ADDRESS_MASK;
}

/* Ticks since the base. */
static inline uint64_t event_words_time(const uint64_t *words)
{
    return ((words[0] >> 8) & 0xffffff) | (words[1] >> LOG_ADDRESS_BITS) << 24;
}

/* Narrow records of blocks: requested bytes, additional usable bytes, call and flags. */
static inline uint64_t event_words_size(const uint64_t *words)
{
    return words[2] & EVENT_WORDS_SIZE_MASK;
}

static inline uint64_t event_words_slack(const uint64_t *words)
{
    return (words[2] >> LOG_SIZE_BITS) & ((1u << LOG_SLACK_BITS) - 1);
}

static inline uint64_t event_words_call_flags(const uint64_t *words)
{
    return words[2] >> (LOG_SIZE_BITS + LOG_SLACK_BITS);
}

#endif
