/* SPDX-License-Identifier: MIT */
#include "importer/pairing/lifetimes.h"

#include "importer/pairing/spill_file.h"
#include "lib/abi/invariant.h"
#include "lib/abi/log_format.h"
#include "lib/abi/varint.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES = 4096,
    MAX_RECORD_BYTES = 16 * VARINT_MAX_BYTES,
    READ_BYTES = SPILL_FILE_BUFFER_BYTES,

    /* Head of an allocation: the call and the flags of most blocks fit in one varint byte. */
    ALLOCATION_CALL_BITS = LOG_CALL_MASK | LOG_CHUNK_KNOWN | LOG_CHUNK_MMAPPED,
    ALLOCATION_OTHER_THREAD = 1 << 7,
    ALLOCATION_NON_MAIN = 1 << 8,
    ALLOCATION_ALIGNED = 1 << 9,
    ALLOCATION_LINKED = 1 << 10,
    ALLOCATION_OTHER_GROUP = 1 << 11,
    ALLOCATION_ABOVE = 1 << 12,

    /* Head of an end, in addition to the low bits of the id. */
    END_KIND_MASK = 7,          /* enum pairing_ended_by, or */
    END_MOVED = PAIRING_LEAKED, /* no end: the block moves to another group */
    END_OTHER_GROUP = 4, /* added to PAIRING_FREED and _REALLOCATED: freed in another group */
    END_CHAIN = 7,
    END_OWN_THREAD = 8,
    END_HEAD_BITS = 4,
};

struct chunk_header {
    uint32_t previous; /* chunk number + 1 in the file, 0 = none */
    uint32_t n_bytes;  /* header included */
};

/* A bucket during writing: its last chunk. */
struct bucket {
    uint8_t *chunk;
    uint32_t previous;
    uint32_t n_bytes;
};

struct free_record {
    uint64_t lifetime_ns;
    uint64_t intervening;
    uint32_t backtrace;
    uint32_t thread; /* 0 with is_own_thread: the allocating one */
    uint32_t chain;  /* index + 1 */
    uint8_t ended_by;
    bool is_own_thread;
};

/* For blocks that changed their group or ended in another one; each + 1, 0: not so. */
struct free_groups {
    uint64_t move; /* number of the last one */
    uint32_t group, free_group;
};

struct lifetimes {
    struct spill_file allocations;
    struct spill_file ends;
    struct bucket *buckets;
    size_t n_buckets, max_buckets;
    uint64_t n_allocations;
    /* the previous allocation, the base of deltas */
    uint64_t last_ns, last_address;
    uint32_t last_thread, last_group;
    uint64_t n_moves;
    bool has_changes; /* a block changed its group or ended in another one */
    /* reading */
    struct free_record *loaded;         /* LIFETIMES_BUCKET_IDS, as the next */
    struct free_groups *changed_groups; /* NULL without has_changes */
    struct pairing_chain *chains;
    size_t n_chains, max_chains;
    uint64_t n_read;
    uint8_t *input;
    const uint8_t *input_at, *input_end;
    uint64_t input_offset; /* of input_end in the file */
};

int lifetimes_new(const char *beside, struct lifetimes **ret, struct error *err)
{
    struct lifetimes *lifetimes = calloc(1, sizeof *lifetimes);

    if (!lifetimes)
        return error_set(err, ERROR_NOMEM, "out of memory");
    lifetimes->ends.fd = -1;
    int code = spill_file_open(&lifetimes->allocations, beside, err);
    if (code == 0)
        code = spill_file_open(&lifetimes->ends, beside, err);
    if (code) {
        lifetimes_free(lifetimes);
        return code;
    }
    *ret = lifetimes;
    return 0;
}

void lifetimes_free(struct lifetimes *lifetimes)
{
    if (!lifetimes)
        return;
    for (size_t i = 0; i < lifetimes->n_buckets; i++)
        free(lifetimes->buckets[i].chunk);
    free(lifetimes->buckets);
    free(lifetimes->loaded);
    free(lifetimes->changed_groups);
    free(lifetimes->chains);
    free(lifetimes->input);
    spill_file_done(&lifetimes->allocations);
    spill_file_done(&lifetimes->ends);
    free(lifetimes);
}

uint64_t lifetimes_disk_bytes(const struct lifetimes *lifetimes)
{
    return lifetimes->allocations.size_bytes + lifetimes->ends.size_bytes;
}

/* ---- writing allocations ---- */

static int add_bucket(struct lifetimes *lifetimes, struct error *err)
{
    struct bucket *buckets = dynamic_array_reserve(lifetimes->buckets, &lifetimes->max_buckets,
                                                   lifetimes->n_buckets + 1, sizeof *buckets);

    if (!buckets)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu buckets", lifetimes->n_buckets);
    lifetimes->buckets = buckets;
    buckets[lifetimes->n_buckets++] = (struct bucket){0};
    return 0;
}

static uint8_t *put_link(uint8_t *out, uint64_t id, const struct pairing_link *link)
{
    out = varint_put(out, id - link->chain_id);
    out = varint_put(out, link->chain_position);
    return varint_put(out, id - link->realloc_from_id);
}

int lifetimes_allocated(struct lifetimes *lifetimes, const struct live_block *block, uint32_t group,
                        bool is_above, const struct pairing_link *link, struct error *err)
{
    uint8_t record[MAX_RECORD_BYTES];
    uint8_t *out = record;
    uint64_t slack = live_block_slack(block);
    unsigned head = block->call & ALLOCATION_CALL_BITS;

    MTRACE_ASSERT(block->allocation_id == lifetimes->n_allocations + 1);
    if (lifetimes->n_allocations % LIFETIMES_BUCKET_IDS == 0) {
        int code = add_bucket(lifetimes, err);
        if (code)
            return code;
    }
    lifetimes->n_allocations++;
    head |= block->thread != lifetimes->last_thread ? ALLOCATION_OTHER_THREAD : 0;
    head |= block->call & LOG_CHUNK_NON_MAIN ? ALLOCATION_NON_MAIN : 0;
    head |= block->alignment_log2 ? ALLOCATION_ALIGNED : 0;
    head |= link ? ALLOCATION_LINKED : 0;
    head |= group != lifetimes->last_group ? ALLOCATION_OTHER_GROUP : 0;
    head |= is_above ? ALLOCATION_ABOVE : 0;
    out = varint_put(out, head);
    out = varint_put(out, block->alloc_ns - lifetimes->last_ns);
    out = varint_put(out, zigzag_encode((int64_t)(block->address - lifetimes->last_address)));
    out = varint_put(out, block->size);
    out = varint_put(out, slack == LIVE_BLOCK_SLACK_UNKNOWN ? 0 : slack + 1);
    out = varint_put(out, block->backtrace);
    if (head & ALLOCATION_OTHER_THREAD)
        out = varint_put(out, block->thread);
    if (head & ALLOCATION_ALIGNED)
        out = varint_put(out, block->alignment_log2);
    if (head & ALLOCATION_OTHER_GROUP)
        out = varint_put(out, group);
    if (link)
        out = put_link(out, block->allocation_id, link);
    lifetimes->last_ns = block->alloc_ns;
    lifetimes->last_address = block->address;
    lifetimes->last_thread = block->thread;
    lifetimes->last_group = group;
    return spill_file_append(&lifetimes->allocations, record, (size_t)(out - record), err);
}

/* ---- writing ends ---- */

static int write_chunk(struct lifetimes *lifetimes, struct bucket *bucket, struct error *err)
{
    struct chunk_header header = {.previous = bucket->previous, .n_bytes = bucket->n_bytes};
    uint64_t number = lifetimes->ends.size_bytes / CHUNK_BYTES;

    memcpy(bucket->chunk, &header, sizeof header);
    memset(bucket->chunk + bucket->n_bytes, 0, CHUNK_BYTES - bucket->n_bytes);
    bucket->previous = (uint32_t)number + 1;
    bucket->n_bytes = sizeof header;
    return spill_file_append(&lifetimes->ends, bucket->chunk, CHUNK_BYTES, err);
}

/* Reserves MAX_RECORD_BYTES for a record of the id. */
static int reserve(struct lifetimes *lifetimes, uint64_t id, struct bucket **ret, struct error *err)
{
    struct bucket *bucket = &lifetimes->buckets[(id - 1) / LIFETIMES_BUCKET_IDS];

    *ret = bucket;
    if (!bucket->chunk) {
        bucket->chunk = malloc(CHUNK_BYTES);
        if (!bucket->chunk)
            return error_set(err, ERROR_NOMEM, "out of memory for a bucket");
        bucket->n_bytes = sizeof(struct chunk_header);
    }
    if (bucket->n_bytes + MAX_RECORD_BYTES > CHUNK_BYTES)
        return write_chunk(lifetimes, bucket, err);
    return 0;
}

static uint64_t end_head(uint64_t id, unsigned kind)
{
    return (id - 1) % LIFETIMES_BUCKET_IDS << END_HEAD_BITS | kind;
}

int lifetimes_ended(struct lifetimes *lifetimes, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    struct bucket *bucket;
    bool own_thread = end->thread == block->thread;
    bool is_call = end->ended_by == PAIRING_FREED || end->ended_by == PAIRING_REALLOCATED;
    bool other_group = is_call && end->group != end->block_group;
    int code = reserve(lifetimes, block->allocation_id, &bucket, err);

    if (code)
        return code;
    uint8_t *out = bucket->chunk + bucket->n_bytes;
    out = varint_put(out, end_head(block->allocation_id,
                                   ((unsigned)end->ended_by + (other_group ? END_OTHER_GROUP : 0))
                                       | (own_thread ? END_OWN_THREAD : 0)));
    if (end->ended_by != PAIRING_EXEC)
        out = varint_put(out, end->time_ns - block->alloc_ns);
    if (is_call) {
        out = varint_put(out, end->backtrace);
        if (!own_thread)
            out = varint_put(out, end->thread);
        out = varint_put(out, end->intervening + 1);
    }
    if (other_group) {
        out = varint_put(out, end->group);
        lifetimes->has_changes = true;
    }
    bucket->n_bytes = (uint32_t)(out - bucket->chunk);
    return 0;
}

int lifetimes_moved(struct lifetimes *lifetimes, const struct live_block *block, uint32_t group,
                    struct error *err)
{
    struct bucket *bucket;
    int code = reserve(lifetimes, block->allocation_id, &bucket, err);

    if (code)
        return code;
    uint8_t *out = bucket->chunk + bucket->n_bytes;
    out = varint_put(out, end_head(block->allocation_id, END_MOVED));
    out = varint_put(out, ++lifetimes->n_moves);
    out = varint_put(out, group);
    bucket->n_bytes = (uint32_t)(out - bucket->chunk);
    lifetimes->has_changes = true;
    return 0;
}

int lifetimes_chain_ended(struct lifetimes *lifetimes, const struct pairing_chain *chain,
                          struct error *err)
{
    struct bucket *bucket;
    int code = reserve(lifetimes, chain->chain_id, &bucket, err);

    if (code)
        return code;
    uint8_t *out = bucket->chunk + bucket->n_bytes;
    out = varint_put(out, end_head(chain->chain_id, END_CHAIN));
    out = varint_put(out, chain->last_allocation_id - chain->chain_id);
    out = varint_put(out, chain->length);
    out = varint_put(out, chain->last_size);
    out =
        varint_put(out, chain->end_ns == PAIRING_UNKNOWN ? 0 : chain->end_ns - chain->start_ns + 1);
    out = varint_put(out, chain->copied_bytes);
    out = varint_put(out, chain->moves);
    out = varint_put(out, chain->last_backtrace);
    out = varint_put(out, chain->process);
    bucket->n_bytes = (uint32_t)(out - bucket->chunk);
    return 0;
}

/* ---- reading ---- */

int lifetimes_rewind(struct lifetimes *lifetimes, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < lifetimes->n_buckets; i++) {
        struct bucket *bucket = &lifetimes->buckets[i];
        if (bucket->chunk && bucket->n_bytes > sizeof(struct chunk_header))
            code = write_chunk(lifetimes, bucket, err);
        free(bucket->chunk);
        bucket->chunk = NULL;
    }
    if (code == 0)
        code = spill_file_flush(&lifetimes->allocations, err);
    if (code == 0)
        code = spill_file_flush(&lifetimes->ends, err);
    if (code)
        return code;
    lifetimes->loaded = malloc(LIFETIMES_BUCKET_IDS * sizeof *lifetimes->loaded);
    lifetimes->input = malloc(READ_BYTES);
    if (lifetimes->has_changes)
        lifetimes->changed_groups =
            malloc(LIFETIMES_BUCKET_IDS * sizeof *lifetimes->changed_groups);
    if (!lifetimes->loaded || !lifetimes->input
        || (lifetimes->has_changes && !lifetimes->changed_groups))
        return error_set(err, ERROR_NOMEM, "out of memory for a bucket");
    lifetimes->input_at = lifetimes->input_end = lifetimes->input;
    lifetimes->input_offset = 0;
    lifetimes->n_read = 0;
    lifetimes->last_ns = lifetimes->last_address = lifetimes->last_thread = lifetimes->last_group =
        0;
    return 0;
}

/* varint_get without its checks: this process wrote the data, and a record never straddles its
 * buffer. */
static const uint8_t *get(const uint8_t *in, uint64_t *ret_value)
{
    uint64_t value = *in & 0x7f;

    for (unsigned shift = 7; *in++ & 0x80; shift += 7)
        value |= (uint64_t)(*in & 0x7f) << shift;
    *ret_value = value;
    return in;
}

static const uint8_t *get32(const uint8_t *in, uint32_t *ret_value)
{
    uint64_t value = 0;

    in = get(in, &value);
    *ret_value = (uint32_t)value;
    return in;
}

static int load_chain(struct lifetimes *lifetimes, const uint8_t **in, uint64_t chain_id,
                      struct free_record *status, struct error *err)
{
    struct pairing_chain chain = {.chain_id = chain_id};
    uint64_t duration = 0;

    struct pairing_chain *chains = dynamic_array_reserve(lifetimes->chains, &lifetimes->max_chains,
                                                         lifetimes->n_chains + 1, sizeof *chains);

    if (!chains)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu chains", lifetimes->n_chains);
    lifetimes->chains = chains;
    *in = get(*in, &chain.last_allocation_id);
    chain.last_allocation_id += chain_id;
    *in = get(*in, &chain.length);
    *in = get(*in, &chain.last_size);
    *in = get(*in, &duration);
    chain.end_ns =
        duration ? duration - 1 : PAIRING_UNKNOWN; /* start_ns is added with the allocation */
    *in = get(*in, &chain.copied_bytes);
    *in = get(*in, &chain.moves);
    *in = get32(*in, &chain.last_backtrace);
    *in = get32(*in, &chain.process);
    lifetimes->chains[lifetimes->n_chains++] = chain;
    status->chain = (uint32_t)lifetimes->n_chains;
    return 0;
}

/* Chunks are read from last to first, so a later move may be read before an earlier one. */
static void load_move(const uint8_t **in, struct free_groups *groups)
{
    uint64_t move = 0;
    uint32_t group = 0;

    *in = get(*in, &move);
    *in = get32(*in, &group);
    if (move > groups->move) {
        groups->move = move;
        groups->group = group + 1;
    }
}

/* The head without END_OTHER_GROUP. */
static unsigned plain_head(unsigned head, bool *ret_other_group)
{
    unsigned kind = head & END_KIND_MASK;

    *ret_other_group =
        kind == PAIRING_FREED + END_OTHER_GROUP || kind == PAIRING_REALLOCATED + END_OTHER_GROUP;
    return *ret_other_group ? head - END_OTHER_GROUP : head;
}

static void load_end(const uint8_t **in, struct free_record *into, unsigned head)
{
    struct free_record status = {
        .lifetime_ns = PAIRING_UNKNOWN,
        .intervening = PAIRING_UNKNOWN,
        .chain = into->chain,
        .ended_by = head & END_KIND_MASK,
        .is_own_thread = (head & END_OWN_THREAD) != 0,
    };
    if (status.ended_by != PAIRING_EXEC)
        *in = get(*in, &status.lifetime_ns);
    if (status.ended_by == PAIRING_FREED || status.ended_by == PAIRING_REALLOCATED) {
        *in = get32(*in, &status.backtrace);
        if (!status.is_own_thread)
            *in = get32(*in, &status.thread);
        *in = get(*in, &status.intervening);
        status.intervening--;
    }
    if (into->ended_by != PAIRING_FREED || status.ended_by != PAIRING_MISSED_FREE) /* FA-4 */
        *into = status;
}

static int load_chunk(struct lifetimes *lifetimes, const uint8_t *chunk, uint32_t n_bytes,
                      uint64_t first_id, struct error *err)
{
    const uint8_t *in = chunk + sizeof(struct chunk_header);

    while (in < chunk + n_bytes) {
        uint64_t head = 0;
        in = get(in, &head);
        uint64_t index = head >> END_HEAD_BITS;
        struct free_record *status = &lifetimes->loaded[index];
        if ((head & END_KIND_MASK) == END_CHAIN) {
            int code = load_chain(lifetimes, &in, first_id + index, status, err);
            if (code)
                return code;
        } else if ((head & END_KIND_MASK) == END_MOVED) {
            load_move(&in, &lifetimes->changed_groups[index]);
        } else {
            bool other_group;
            load_end(&in, status,
                     plain_head((unsigned)head & ((1 << END_HEAD_BITS) - 1), &other_group));
            if (other_group) {
                in = get32(in, &lifetimes->changed_groups[index].free_group);
                lifetimes->changed_groups[index].free_group++;
            }
        }
    }
    return 0;
}

static int load_bucket(struct lifetimes *lifetimes, size_t index, struct error *err)
{
    uint8_t chunk[CHUNK_BYTES + VARINT_MAX_BYTES] = {0};
    struct chunk_header header;
    uint32_t number = lifetimes->buckets[index].previous;
    uint64_t n_left = lifetimes->n_allocations - (uint64_t)index * LIFETIMES_BUCKET_IDS;

    memset(lifetimes->loaded, 0,
           (size_t)(n_left < LIFETIMES_BUCKET_IDS ? n_left : LIFETIMES_BUCKET_IDS)
               * sizeof *lifetimes->loaded);
    if (lifetimes->changed_groups)
        memset(lifetimes->changed_groups, 0,
               LIFETIMES_BUCKET_IDS * sizeof *lifetimes->changed_groups);
    lifetimes->n_chains = 0;
    for (; number; number = header.previous) {
        size_t n_read;
        int code = spill_file_read(&lifetimes->ends, (uint64_t)(number - 1) * CHUNK_BYTES, chunk,
                                   CHUNK_BYTES, &n_read, err);
        if (code)
            return code;
        memcpy(&header, chunk, sizeof header);
        code = load_chunk(lifetimes, chunk, header.n_bytes,
                          (uint64_t)index * LIFETIMES_BUCKET_IDS + 1, err);
        if (code)
            return code;
    }
    return 0;
}

static int fill_input(struct lifetimes *lifetimes, struct error *err)
{
    size_t left = (size_t)(lifetimes->input_end - lifetimes->input_at);
    size_t n_read;

    memmove(lifetimes->input, lifetimes->input_at, left);
    int code =
        spill_file_read(&lifetimes->allocations, lifetimes->input_offset, lifetimes->input + left,
                        READ_BYTES - left - VARINT_MAX_BYTES, &n_read, err);
    lifetimes->input_offset += n_read;
    lifetimes->input_at = lifetimes->input;
    lifetimes->input_end = lifetimes->input + left + n_read;
    return code;
}

static void read_allocation(struct lifetimes *lifetimes, struct allocation *ret)
{
    const uint8_t *in = lifetimes->input_at;
    uint64_t head = 0;
    uint64_t delta = 0;
    uint64_t slack = 0;
    uint64_t alignment = 0;

    in = get(in, &head);
    in = get(in, &delta);
    ret->alloc_ns = lifetimes->last_ns += delta;
    in = get(in, &delta);
    ret->address = lifetimes->last_address += (uint64_t)zigzag_decode(delta);
    in = get(in, &ret->size_bytes);
    in = get(in, &slack);
    ret->slack_bytes = slack ? slack - 1 : LIVE_BLOCK_SLACK_UNKNOWN;
    in = get32(in, &ret->backtrace);
    if (head & ALLOCATION_OTHER_THREAD)
        in = get32(in, &lifetimes->last_thread);
    if (head & ALLOCATION_ALIGNED)
        in = get(in, &alignment);
    if (head & ALLOCATION_OTHER_GROUP)
        in = get32(in, &lifetimes->last_group);
    ret->thread = lifetimes->last_thread;
    ret->group = lifetimes->last_group;
    ret->is_above = (head & ALLOCATION_ABOVE) != 0;
    ret->alignment_log2 = (uint8_t)alignment;
    ret->call = (uint8_t)((head & ALLOCATION_CALL_BITS)
                          | (head & ALLOCATION_NON_MAIN ? LOG_CHUNK_NON_MAIN : 0));
    if (head & ALLOCATION_LINKED) {
        in = get(in, &delta);
        ret->chain_id = ret->allocation_id - delta;
        in = get(in, &ret->chain_position);
        in = get(in, &delta);
        ret->realloc_from_id = ret->allocation_id - delta;
    }
    lifetimes->input_at = in;
}

static void take_status(const struct free_record *status, struct allocation *ret)
{
    ret->ended_by = status->ended_by;
    ret->lifetime_ns = status->ended_by ? status->lifetime_ns : PAIRING_UNKNOWN;
    ret->intervening = status->ended_by ? status->intervening : PAIRING_UNKNOWN;
    ret->free_backtrace = status->backtrace;
    ret->free_thread = status->is_own_thread ? ret->thread : status->thread;
}

static void take_groups(const struct free_groups *groups, struct allocation *ret)
{
    if (groups && groups->group)
        ret->group = groups->group - 1;
    ret->free_group = groups && groups->free_group ? groups->free_group - 1 : ret->group;
}

int lifetimes_next(struct lifetimes *lifetimes, struct allocation *ret,
                   const struct pairing_chain **ret_chain, struct error *err)
{
    int code = 0;

    if (lifetimes->n_read == lifetimes->n_allocations)
        return 0;
    if (lifetimes->n_read % LIFETIMES_BUCKET_IDS == 0)
        code = load_bucket(lifetimes, (size_t)(lifetimes->n_read / LIFETIMES_BUCKET_IDS), err);
    if (code == 0 && lifetimes->input_end - lifetimes->input_at < MAX_RECORD_BYTES)
        code = fill_input(lifetimes, err);
    if (code)
        return code;
    const struct free_record *status = &lifetimes->loaded[lifetimes->n_read % LIFETIMES_BUCKET_IDS];
    memset(ret, 0, sizeof *ret);
    ret->allocation_id = ++lifetimes->n_read;
    read_allocation(lifetimes, ret);
    take_status(status, ret);
    take_groups(lifetimes->changed_groups
                    ? &lifetimes->changed_groups[(lifetimes->n_read - 1) % LIFETIMES_BUCKET_IDS]
                    : NULL,
                ret);
    *ret_chain = NULL;
    if (status->chain) {
        struct pairing_chain *chain = &lifetimes->chains[status->chain - 1];
        ret->chain_id = ret->allocation_id;
        ret->chain_position = 1;
        chain->first_size = ret->size_bytes;
        chain->first_backtrace = ret->backtrace;
        chain->start_ns = ret->alloc_ns;
        if (chain->end_ns != PAIRING_UNKNOWN)
            chain->end_ns += ret->alloc_ns;
        *ret_chain = chain;
    }
    return 1;
}
