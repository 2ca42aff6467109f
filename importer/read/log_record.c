/* SPDX-License-Identifier: MIT */
#include "importer/read/log_record.h"

#include "importer/model/definitions.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"
#include "lib/totals/report_classes.h"

/* Length of the record at `words`, of which n_left words follow; 0 if it does not fit. */
static size_t length_of(const uint64_t *words, size_t n_left)
{
    size_t n = log_event_words(log_record_kind(words));

    if (n == 0) {
        n = n_left > 2 ? words[2] & 0xffff : 0;
        if (n < 3 || n > LOG_EVENT_MAX_WORDS)
            return 0;
    }
    return n <= n_left ? n : 0;
}

static uint64_t n_elided(const uint64_t *words)
{
    return words[2] >> 16 & 0xffff;
}

/* Sum for all elided blocks of the record. */
static uint64_t elided_lifetime(const uint64_t *words)
{
    return n_elided(words) == 1 ? words[4] >> 32 : words[5];
}

static uint64_t elided_slack(const uint64_t *words)
{
    return words[3] >> LOG_SIZE_BITS & ((1u << LOG_SLACK_BITS) - 1);
}

static uint64_t n_elided_temporary(const uint64_t *words)
{
    return words[1] << 16 >> 48;
}

/* Number of blocks of a LOG_ELIDED_SIZES record. */
static uint64_t n_of_class(const uint64_t *words)
{
    return log_record_address(words) & 0xffffff;
}

static uint64_t n_temporary_of_class(const uint64_t *words)
{
    return log_record_address(words) >> 24;
}

static bool is_possible_mixed(const uint64_t *words)
{
    uint64_t n = n_elided(words);
    uint32_t bytes = (uint32_t)words[3];
    uint32_t least = (uint32_t)words[6];
    uint32_t largest = (uint32_t)(words[6] >> 32);

    return n && n_elided_temporary(words) <= n && elided_lifetime(words) >> 32 < n
           && least <= largest && largest <= bytes && n * least <= bytes && bytes <= n * largest
           && (uint32_t)words[7] <= bytes;
}

static bool is_possible_class(const uint64_t *words)
{
    return log_record_node(words) < SIZE_CLASSES && n_temporary_of_class(words) <= n_of_class(words)
           && words[2] <= EVENT_MAX_SUM && words[3] <= UINT32_MAX;
}

static bool is_event(const uint64_t *words, size_t n_words)
{
    switch (log_record_kind(words)) {
    case LOG_ALLOC:
    case LOG_FREE:
    case LOG_REALLOC:
    case LOG_ALLOC_WIDE:
    case LOG_REALLOC_WIDE:
    case LOG_FAILURE:
    case LOG_TRACING:
    case LOG_EXEC_FAILED:
    case LOG_MUNMAP:
    case LOG_BRK:
    case LOG_FORK:
    case LOG_MARK:
    case LOG_END:
    case LOG_HEAP_EXTENT:
    case LOG_RESIDENT:
    case LOG_MALLOPT:
    case LOG_MREMAP:
    case LOG_MMAP:
    case LOG_MOVE:
    case LOG_PHASE:
    case LOG_POOL_ALLOC:
    case LOG_POOL_FREE:
    case LOG_POOL_RESIZE:
    case LOG_POOL_END:
    case LOG_OBJECT_WALK:
    case LOG_OBJECT_NODE:
    case LOG_OBJECT_CLAIM:
    case LOG_OBJECT_WARNING:
        return true;
    case LOG_ELIDED_ALLOCATIONS:
    case LOG_ELIDED_LIVES:
    case LOG_ELIDED_SIZES:
    case LOG_NEXT_OWNER:
        return true;
    case LOG_ELIDED:
        return n_words >= LOG_ELIDED_WORDS
               || (n_words == LOG_ELIDED_ONE_WORDS && n_elided(words) == 1);
    case LOG_ELIDED_MIXED:
        return n_words >= LOG_ELIDED_MIXED_WORDS;
    default:
        return false;
    }
}

static bool is_page(uint64_t address)
{
    return address % EVENT_MIN_PAGE_BYTES == 0 && address <= EVENT_WORDS_ADDRESS_MASK;
}

/* RC-3, for kinds whose fields can have impossible values. */
static bool is_possible(const uint64_t *words)
{
    switch (log_record_kind(words)) {
    case LOG_ALLOC:
    case LOG_POOL_ALLOC:
    case LOG_POOL_RESIZE:
        return log_record_address(words) != 0;
    case LOG_ALLOC_WIDE:
        return log_record_address(words) != 0 && words[3] <= EVENT_MAX_BYTES
               && ((words[2] >> 8) & 0xff) <= EVENT_MAX_ALIGNMENT_LOG2;
    case LOG_REALLOC_WIDE:
        return words[4] <= EVENT_MAX_BYTES;
    case LOG_BRK:
    case LOG_HEAP_EXTENT: /* where it ends */
        return words[2] <= EVENT_WORDS_ADDRESS_MASK;
    case LOG_RESIDENT:
        if ((words[3] & ~LOG_RESIDENT_CONTINUES) > words[2] && !(words[3] & LOG_RESIDENT_UNKNOWN))
            return false;
        return is_page(log_record_address(words)) && words[2] <= EVENT_MAX_BYTES;
    case LOG_MUNMAP:
    case LOG_MMAP:
        return is_page(log_record_address(words)) && words[2] <= EVENT_MAX_BYTES;
    case LOG_MREMAP:
        return is_page(log_record_address(words)) && is_page(words[2])
               && words[3] <= EVENT_MAX_BYTES && words[4] <= EVENT_MAX_BYTES;
    case LOG_ELIDED:
        return n_elided(words) && n_elided_temporary(words) <= n_elided(words)
               && elided_lifetime(words) >> 32 < n_elided(words);
    case LOG_ELIDED_MIXED:
        return is_possible_mixed(words);
    case LOG_ELIDED_SIZES:
        return is_possible_class(words);
    case LOG_ELIDED_LIVES:
        return log_record_node(words) < LIFETIME_CLASSES && words[2] <= EVENT_MAX_SUM;
    case LOG_ELIDED_ALLOCATIONS:
        return log_record_address(words) <= EVENT_MAX_BYTES;
    case LOG_OBJECT_NODE:
        return words[4] <= EVENT_MAX_SUM;
    default:
        return true;
    }
}

static void take_bookkeeping(struct log_record_reader *reader, const uint64_t *words)
{
    switch (log_record_kind(words)) {
    case LOG_THREAD:
        reader->thread = log_record_node(words);
        reader->group = LOG_GROUP_ROOT;
        return;
    case LOG_TIME_BASE:
        reader->base_ticks = words[1];
        return;
    case LOG_GROUP:
        reader->group = log_record_node(words);
        return;
    default:
        reader->n_unknown++;
    }
}

enum log_record_found log_record_next(struct log_record_reader *reader, struct log_record *ret)
{
    while (reader->at < reader->end) {
        const uint64_t *words = reader->at;
        size_t n = length_of(words, (size_t)(reader->end - words));
        if (n == 0)
            return LOG_RECORD_DAMAGED;
        reader->at = words + n;
        if (is_event(words, n)) {
            if (mtrace_unlikely(!is_possible(words))) {
                reader->n_impossible++;
                continue;
            }
            *ret = (struct log_record){.words = words,
                                       .ticks = reader->base_ticks + log_record_time(words),
                                       .thread = reader->thread,
                                       .group = reader->group};
            return LOG_RECORD_FOUND;
        }
        take_bookkeeping(reader, words);
    }
    return LOG_RECORD_NO_MORE;
}

uint32_t log_record_fallback_group(const uint64_t *words)
{
    return log_group_code((uint32_t)log_record_time(words));
}

static uint64_t old_address_of(const uint64_t *words)
{
    return words[3] & EVENT_WORDS_ADDRESS_MASK;
}

bool log_record_is_pair(const struct log_record *record)
{
    unsigned kind = log_record_kind(record->words);

    return (kind == LOG_REALLOC || kind == LOG_REALLOC_WIDE)
           && log_record_address(record->words) != 0 && old_address_of(record->words) != 0;
}

uint64_t log_record_begin_ticks(const struct log_record *record)
{
    uint64_t duration = log_record_kind(record->words) == LOG_REALLOC
                            ? record->words[3] >> LOG_ADDRESS_BITS
                            : record->words[2] >> 8;
    return duration < record->ticks ? record->ticks - duration : 0;
}

bool log_record_ends_block(const struct log_record *record, enum log_record_half half)
{
    switch (log_record_kind(record->words)) {
    case LOG_FREE:
    case LOG_MUNMAP:
    case LOG_POOL_FREE:
    case LOG_POOL_END:
        return true;
    case LOG_REALLOC:
    case LOG_REALLOC_WIDE:
        return half == LOG_RECORD_BEGIN || log_record_address(record->words) == 0;
    default:
        return false;
    }
}

static uint32_t backtrace_of(const struct log_names *names, uint32_t node, uint64_t *n_lost)
{
    uint32_t id = log_names_backtrace(names, node);

    if (id != 0)
        return id;
    if (node <= LOG_NODE_GUESSED)
        return DEFINITIONS_NO_BACKTRACE;
    ++*n_lost;
    return DEFINITIONS_LOST_BACKTRACE;
}

/* Usable bytes of a wide record. An allocator may return any value. 0: unknown. */
static uint64_t usable_of(uint64_t word, uint64_t size)
{
    return word >= size && word <= EVENT_MAX_BYTES ? word : 0;
}

static void set_call(struct event *event, uint64_t call_flags)
{
    event->call = call_flags & LOG_CALL_MASK;
    event->chunk_flags = (uint8_t)(call_flags & 0xff & ~(uint64_t)LOG_CALL_MASK);
}

static void decode_narrow(const uint64_t *words, struct event *ret)
{
    ret->size = words[2] & EVENT_WORDS_SIZE_MASK;
    ret->usable = ret->size + log_record_slack(words);
    set_call(ret, words[2] >> (LOG_SIZE_BITS + LOG_SLACK_BITS));
}

static void decode_alloc_wide(const uint64_t *words, struct event *ret)
{
    ret->size = words[3];
    ret->usable = usable_of(words[4], words[3]);
    ret->alignment_log2 = (words[2] >> 8) & 0xff;
    set_call(ret, words[2]);
}

/* Also handles a realloc without an old or new block, which is an allocation or a free. */
static void decode_realloc(const uint64_t *words, enum log_record_half half, struct event *ret)
{
    uint64_t old_address = old_address_of(words);

    if (log_record_kind(words) == LOG_REALLOC) {
        decode_narrow(words, ret);
    } else {
        ret->size = words[4];
        ret->usable = usable_of(words[5], words[4]);
        set_call(ret, words[2]);
    }
    ret->old_address = old_address;
    if (half == LOG_RECORD_END) {
        ret->kind = EVENT_REALLOC_END;
    } else if (half == LOG_RECORD_BEGIN) {
        ret->kind = EVENT_REALLOC_BEGIN;
        ret->address = old_address;
    } else if (ret->address == 0) {
        ret->kind = EVENT_FREE;
        ret->address = old_address;
    } else {
        ret->kind = EVENT_ALLOC;
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t log_record_claimed_bytes(const struct log_record *record)
{
    const uint64_t *words = record->words;

    switch (log_record_kind(words)) {
    case LOG_ALLOC:
    case LOG_REALLOC:
        return log_record_size(words) + log_record_slack(words);
    case LOG_ALLOC_WIDE:
        return larger(words[3], usable_of(words[4], words[3]));
    case LOG_REALLOC_WIDE:
        return larger(words[4], usable_of(words[5], words[4]));
    case LOG_ELIDED:
        return n_elided(words) * ((words[3] & EVENT_WORDS_SIZE_MASK) + elided_slack(words) + 1);
    case LOG_ELIDED_MIXED:
        return n_elided(words) + (uint32_t)words[3] + (words[3] >> 32);
    case LOG_ELIDED_SIZES:
        return n_of_class(words) + words[2] + words[3];
    case LOG_ELIDED_LIVES:
        return larger(log_record_address(words), words[2]);
    case LOG_ELIDED_ALLOCATIONS:
        return log_record_node(words);
    case LOG_POOL_ALLOC:
    case LOG_POOL_RESIZE:
    case LOG_OBJECT_CLAIM:
        return words[2] & EVENT_WORDS_SIZE_MASK;
    case LOG_OBJECT_NODE:
        return words[4];
    default:
        return 0;
    }
}

static void decode_mmap(const uint64_t *words, const struct log_names *names, struct event *ret)
{
    uint32_t path = (uint32_t)(words[4] >> 32);

    ret->kind = EVENT_MMAP;
    ret->size = words[2];
    ret->prot = (int32_t)(words[3] & 0xffff);
    ret->flags = (int32_t)(uint32_t)(words[3] >> 16);
    ret->fd = (int32_t)(uint32_t)words[4];
    ret->file_offset = (int64_t)words[5];
    ret->text = path ? log_names_find_text(names, LOG_DEF_PATH, path) : NULL;
}

static void decode_memory(const uint64_t *words, struct event *ret)
{
    switch (log_record_kind(words)) {
    case LOG_MUNMAP:
        ret->kind = EVENT_MUNMAP;
        ret->size = words[2];
        break;
    case LOG_MREMAP:
        ret->kind = EVENT_MREMAP;
        ret->old_address = words[2];
        ret->old_size = words[3];
        ret->size = words[4];
        break;
    case LOG_BRK:
        ret->kind = EVENT_BRK;
        ret->old_address = words[2];
        break;
    case LOG_HEAP_EXTENT:
        ret->kind = EVENT_HEAP_EXTENT;
        ret->old_address = words[2];
        ret->value = (int64_t)words[3];
        break;
    case LOG_RESIDENT:
        ret->kind = EVENT_RESIDENT;
        ret->size = words[2];
        ret->value =
            words[3] & LOG_RESIDENT_UNKNOWN ? -1 : (int64_t)(words[3] & EVENT_WORDS_ADDRESS_MASK);
        ret->call = (words[3] & LOG_RESIDENT_CONTINUES) != 0;
        break;
    default: /* LOG_MALLOPT */
        ret->kind = EVENT_MALLOPT;
        ret->parameter = (int64_t)words[2];
        ret->value = (int64_t)words[3];
        ret->result = (int32_t)(uint32_t)words[4];
        ret->call = (uint8_t)(words[4] >> 32);
    }
}

static void decode_elided(const uint64_t *words, const struct log_names *names, uint64_t *n_lost,
                          struct event *ret)
{
    ret->kind = EVENT_ELIDED;
    ret->group = log_names_group(names, log_group_code((uint32_t)ret->address));
    ret->result = (int32_t)(ret->address >> 32);
    ret->address = 0;
    ret->n_elided = n_elided(words);
    ret->size = ret->n_elided * (words[3] & EVENT_WORDS_SIZE_MASK);
    ret->slack_bytes = (uint32_t)(ret->n_elided * elided_slack(words));
    ret->lifetime_ns = elided_lifetime(words);
    ret->pair = ret->n_elided == 1 ? (uint32_t)words[4] | words[4] << 32 : words[4];
    ret->free_backtrace = backtrace_of(names, (uint32_t)(words[2] >> 32), n_lost);
}

static void decode_elided_mixed(const uint64_t *words, struct event *ret)
{
    ret->kind = EVENT_ELIDED_MIXED;
    ret->size = (uint32_t)words[3];
    ret->slack_bytes = (uint32_t)(words[3] >> 32);
    ret->largest_ns_ago = (uint32_t)(words[7] >> 32);
    ret->lifetime_ns = words[5];
    ret->pair = words[4];
    ret->min_bytes = (uint32_t)words[6];
    ret->largest_bytes = (uint32_t)(words[6] >> 32);
    ret->temporary_bytes = (uint32_t)words[7];
}

/* For LOG_ELIDED_SIZES, LOG_ELIDED_LIVES and LOG_ELIDED_ALLOCATIONS, which have numbers in the
 * stack field. */
static void decode_elided_more(const uint64_t *words, struct event *ret)
{
    ret->backtrace = DEFINITIONS_NO_BACKTRACE;
    if (log_record_kind(words) == LOG_ELIDED_SIZES) {
        ret->kind = EVENT_ELIDED_SIZES;
        ret->call = (uint8_t)log_record_node(words);
        ret->n_elided = n_of_class(words);
        ret->result = (int32_t)n_temporary_of_class(words);
        ret->size = words[2];
        ret->slack_bytes = (uint32_t)words[3];
    } else if (log_record_kind(words) == LOG_ELIDED_LIVES) {
        ret->kind = EVENT_ELIDED_LIVES;
        ret->value = log_record_node(words);
        ret->n_elided = ret->address;
        ret->size = words[2];
    } else {
        ret->kind = EVENT_ELIDED_ALLOCATIONS;
        ret->n_elided = log_record_node(words);
        ret->size = ret->address;
    }
    ret->address = 0;
}

/* Does the stack field contain something else? */
static bool has_no_stack(unsigned kind)
{
    return kind == LOG_TRACING || kind == LOG_MOVE || kind == LOG_ELIDED_LIVES
           || kind == LOG_ELIDED_ALLOCATIONS || kind == LOG_ELIDED_SIZES;
}

/* NULL: the phase ends. */
static const char *phase_name(const struct log_names *names, uint32_t label)
{
    const char *name = label ? log_names_find_text(names, LOG_DEF_MARKER, label) : NULL;

    return label && !name ? "" : name;
}

/* Events of the process, not of memory. */
static void decode_process(const uint64_t *words, const struct log_names *names, struct event *ret)
{
    switch (log_record_kind(words)) {
    case LOG_FORK:
        ret->kind = EVENT_FORK;
        ret->value = (int64_t)words[2];
        break;
    case LOG_MARK:
        ret->kind = EVENT_MARKER;
        ret->value = (int64_t)words[2];
        ret->text = log_names_find_text(names, LOG_DEF_MARKER, (uint32_t)words[2]);
        break;
    case LOG_PHASE:
        ret->kind = EVENT_PHASE;
        ret->value = (int64_t)(words[2] >> 32);
        ret->text = phase_name(names, (uint32_t)words[2]);
        break;
    case LOG_TRACING:
        ret->kind = EVENT_TRACING;
        ret->value = log_record_node(words);
        ret->backtrace = DEFINITIONS_NO_BACKTRACE;
        break;
    case LOG_EXEC_FAILED:
        ret->kind = EVENT_END;
        ret->value = LOG_END_UNKNOWN;
        break;
    case LOG_NEXT_OWNER:
        ret->kind = EVENT_NEXT_OWNER;
        break;
    default: /* LOG_END */
        ret->kind = EVENT_END;
        ret->value = (uint32_t)words[2];
        ret->result = (int32_t)(uint32_t)(words[2] >> 32);
    }
}

static void decode_pool(const uint64_t *words, const struct log_names *names, struct event *ret)
{
    uint32_t pool = 0;

    switch (log_record_kind(words)) {
    case LOG_POOL_FREE:
        ret->kind = EVENT_POOL_FREE;
        pool = (uint32_t)words[2];
        break;
    case LOG_POOL_END:
        ret->kind = EVENT_POOL_END;
        ret->address = 0;
        pool = (uint32_t)log_record_address(words);
        break;
    default:
        ret->kind = log_record_kind(words) == LOG_POOL_ALLOC ? EVENT_POOL_ALLOC : EVENT_POOL_RESIZE;
        ret->size = words[2] & EVENT_WORDS_SIZE_MASK;
        pool = (uint32_t)(words[2] >> LOG_SIZE_BITS);
        if (ret->kind == EVENT_POOL_RESIZE)
            ret->old_address = old_address_of(words);
    }
    ret->value = log_names_pool(names, pool);
}

static const char *label_of(const struct log_names *names, uint32_t label)
{
    const char *text = label ? log_names_find_text(names, LOG_DEF_MARKER, label) : NULL;

    return text ? text : "";
}

static void decode_object(const uint64_t *words, const struct log_names *names, struct event *ret)
{
    uint32_t label = (uint32_t)words[2];

    switch (log_record_kind(words)) {
    case LOG_OBJECT_WALK:
        ret->kind = EVENT_OBJECT_WALK;
        ret->value = (int64_t)(words[2] >> 32);
        ret->text = phase_name(names, label);
        break;
    case LOG_OBJECT_NODE:
        ret->kind = EVENT_OBJECT_NODE;
        ret->call = (uint8_t)(words[2] >> 32);
        ret->value = (int64_t)(words[2] >> 40);
        ret->text = label_of(names, label);
        ret->old_address = (uint32_t)words[3];
        ret->n_elided = words[3] >> 32;
        ret->size = words[4];
        break;
    case LOG_OBJECT_CLAIM:
        ret->kind = EVENT_OBJECT_CLAIM;
        ret->size = words[2] & EVENT_WORDS_SIZE_MASK;
        ret->value = (int64_t)(words[2] >> LOG_SIZE_BITS);
        ret->old_address = (uint32_t)words[3];
        ret->call = (uint8_t)(words[3] >> 32);
        break;
    default:
        ret->kind = EVENT_OBJECT_WARNING;
        ret->value = (int64_t)(words[2] >> 32);
        ret->text = label_of(names, label);
    }
}

void log_record_decode(const struct log_record *record, enum log_record_half half,
                       const struct log_names *names, uint32_t thread, uint64_t *n_lost,
                       struct event *ret)
{
    const uint64_t *words = record->words;

    *ret = (struct event){
        .process = names->process, .thread = thread, .address = log_record_address(words)};
    if (!has_no_stack(log_record_kind(words)))
        ret->backtrace = backtrace_of(names, log_record_node(words), n_lost);
    switch (log_record_kind(words)) {
    case LOG_ALLOC:
        ret->kind = EVENT_ALLOC;
        decode_narrow(words, ret);
        break;
    case LOG_FREE:
        ret->kind = EVENT_FREE;
        break;
    case LOG_MOVE:
        ret->kind = EVENT_MOVE;
        ret->backtrace = DEFINITIONS_NO_BACKTRACE;
        ret->group = log_names_group(names, log_record_node(words));
        break;
    case LOG_REALLOC:
    case LOG_REALLOC_WIDE:
        decode_realloc(words, half, ret);
        break;
    case LOG_ALLOC_WIDE:
        ret->kind = EVENT_ALLOC;
        decode_alloc_wide(words, ret);
        break;
    case LOG_FAILURE:
        ret->kind = EVENT_FAILURE;
        ret->size = words[3];
        ret->value = (int64_t)((words[2] >> 8) & 0xffffffff);
        set_call(ret, words[2]);
        break;
    case LOG_MMAP:
        decode_mmap(words, names, ret);
        break;
    case LOG_MUNMAP:
    case LOG_MREMAP:
    case LOG_BRK:
    case LOG_HEAP_EXTENT:
    case LOG_RESIDENT:
    case LOG_MALLOPT:
        decode_memory(words, ret);
        break;
    case LOG_ELIDED:
        decode_elided(words, names, n_lost, ret);
        break;
    case LOG_ELIDED_MIXED:
        decode_elided(words, names, n_lost, ret);
        decode_elided_mixed(words, ret);
        break;
    case LOG_ELIDED_SIZES:
    case LOG_ELIDED_LIVES:
    case LOG_ELIDED_ALLOCATIONS:
        decode_elided_more(words, ret);
        break;
    case LOG_POOL_ALLOC:
    case LOG_POOL_FREE:
    case LOG_POOL_RESIZE:
    case LOG_POOL_END:
        decode_pool(words, names, ret);
        break;
    case LOG_OBJECT_WALK:
    case LOG_OBJECT_NODE:
    case LOG_OBJECT_CLAIM:
    case LOG_OBJECT_WARNING:
        decode_object(words, names, ret);
        break;
    default:
        decode_process(words, names, ret);
    }
}
