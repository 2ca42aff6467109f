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

    /* Head of a birth: the call and the flags that most blocks share make one byte. */
    BIRTH_CALL_BITS = LOG_CALL_MASK | LOG_CHUNK_KNOWN | LOG_CHUNK_MMAPPED,
    BIRTH_OTHER_THREAD = 1 << 7,
    BIRTH_NON_MAIN = 1 << 8,
    BIRTH_ALIGNED = 1 << 9,
    BIRTH_LINKED = 1 << 10,
    BIRTH_OTHER_GROUP = 1 << 11,
    BIRTH_ABOVE = 1 << 12,

    /* Head of an end, beside the low bits of the id. */
    END_KIND_MASK = 7,          /* enum pairing_ended_by, or */
    END_MOVED = PAIRING_LEAKED, /* no end of its own: another group */
    END_OTHER_GROUP = 4, /* added to PAIRING_FREED and _REALLOCATED: not the block's own group */
    END_CHAIN = 7,
    END_OWN_THREAD = 8,
    END_HEAD_BITS = 4,
};

struct chunk_header {
    uint32_t previous; /* chunk number + 1 in the file, 0 = none */
    uint32_t n_bytes;  /* header included */
};

/* A bucket while it is written: its last chunk. */
struct bucket {
    uint8_t *chunk;
    uint32_t previous;
    uint32_t n_bytes;
};

struct fate {
    uint64_t lifetime_ns;
    uint64_t intervening;
    uint32_t node;
    uint32_t thread; /* 0 with is_own_thread: the allocating one */
    uint32_t chain;  /* index + 1 */
    uint8_t ended_by;
    bool is_own_thread;
};

/* Of blocks that changed their group, or ended in another one; each + 1, 0: not so. */
struct fate_groups {
    uint64_t move; /* number of the last one */
    uint32_t group, free_group;
};

struct lifetimes {
    struct spill_file births;
    struct spill_file ends;
    struct bucket *buckets;
    size_t n_buckets, max_buckets;
    uint64_t n_births;
    /* the birth before, that deltas are taken from */
    uint64_t last_ns, last_address;
    uint32_t last_thread, last_group;
    uint64_t n_moves;
    bool has_changes; /* some block changed its group, or ended in another one */
    /* reading */
    struct fate *loaded;                /* LIFETIMES_BUCKET_IDS, as the next */
    struct fate_groups *changed_groups; /* NULL without has_changes */
    struct pairing_chain *chains;
    size_t n_chains, max_chains;
    uint64_t n_read;
    uint8_t *input;
    const uint8_t *input_at, *input_end;
    uint64_t input_offset; /* of input_end in the file */
};

int lifetimes_new(const char *beside, struct lifetimes **ret, struct error *err)
{
    struct lifetimes *fates = calloc(1, sizeof *fates);

    if (!fates)
        return error_set(err, ERROR_NOMEM, "out of memory");
    fates->ends.fd = -1;
    int code = spill_file_open(&fates->births, beside, err);
    if (code == 0)
        code = spill_file_open(&fates->ends, beside, err);
    if (code) {
        lifetimes_free(fates);
        return code;
    }
    *ret = fates;
    return 0;
}

void lifetimes_free(struct lifetimes *fates)
{
    if (!fates)
        return;
    for (size_t i = 0; i < fates->n_buckets; i++)
        free(fates->buckets[i].chunk);
    free(fates->buckets);
    free(fates->loaded);
    free(fates->changed_groups);
    free(fates->chains);
    free(fates->input);
    spill_file_done(&fates->births);
    spill_file_done(&fates->ends);
    free(fates);
}

uint64_t lifetimes_disk_bytes(const struct lifetimes *fates)
{
    return fates->births.size_bytes + fates->ends.size_bytes;
}

/* ---- writing births ---- */

static int add_bucket(struct lifetimes *fates, struct error *err)
{
    struct bucket *buckets = dynamic_array_reserve(fates->buckets, &fates->max_buckets,
                                                   fates->n_buckets + 1, sizeof *buckets);

    if (!buckets)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu buckets", fates->n_buckets);
    fates->buckets = buckets;
    buckets[fates->n_buckets++] = (struct bucket){0};
    return 0;
}

static uint8_t *put_link(uint8_t *out, uint64_t id, const struct pairing_link *link)
{
    out = varint_put(out, id - link->chain_id);
    out = varint_put(out, link->chain_position);
    return varint_put(out, id - link->realloc_from_id);
}

int lifetimes_born(struct lifetimes *fates, const struct live_block *block, uint32_t group,
                   bool is_above, const struct pairing_link *link, struct error *err)
{
    uint8_t record[MAX_RECORD_BYTES];
    uint8_t *out = record;
    uint64_t slack = live_block_slack(block);
    unsigned head = block->call & BIRTH_CALL_BITS;

    MTRACE_ASSERT(block->allocation_id == fates->n_births + 1);
    if (fates->n_births % LIFETIMES_BUCKET_IDS == 0) {
        int code = add_bucket(fates, err);
        if (code)
            return code;
    }
    fates->n_births++;
    head |= block->thread != fates->last_thread ? BIRTH_OTHER_THREAD : 0;
    head |= block->call & LOG_CHUNK_NON_MAIN ? BIRTH_NON_MAIN : 0;
    head |= block->alignment_log2 ? BIRTH_ALIGNED : 0;
    head |= link ? BIRTH_LINKED : 0;
    head |= group != fates->last_group ? BIRTH_OTHER_GROUP : 0;
    head |= is_above ? BIRTH_ABOVE : 0;
    out = varint_put(out, head);
    out = varint_put(out, block->alloc_ns - fates->last_ns);
    out = varint_put(out, zigzag_encode((int64_t)(block->address - fates->last_address)));
    out = varint_put(out, block->size);
    out = varint_put(out, slack == LIVE_BLOCK_SLACK_UNKNOWN ? 0 : slack + 1);
    out = varint_put(out, block->node);
    if (head & BIRTH_OTHER_THREAD)
        out = varint_put(out, block->thread);
    if (head & BIRTH_ALIGNED)
        out = varint_put(out, block->alignment_log2);
    if (head & BIRTH_OTHER_GROUP)
        out = varint_put(out, group);
    if (link)
        out = put_link(out, block->allocation_id, link);
    fates->last_ns = block->alloc_ns;
    fates->last_address = block->address;
    fates->last_thread = block->thread;
    fates->last_group = group;
    return spill_file_append(&fates->births, record, (size_t)(out - record), err);
}

/* ---- writing ends ---- */

static int write_chunk(struct lifetimes *fates, struct bucket *bucket, struct error *err)
{
    struct chunk_header header = {.previous = bucket->previous, .n_bytes = bucket->n_bytes};
    uint64_t number = fates->ends.size_bytes / CHUNK_BYTES;

    memcpy(bucket->chunk, &header, sizeof header);
    memset(bucket->chunk + bucket->n_bytes, 0, CHUNK_BYTES - bucket->n_bytes);
    bucket->previous = (uint32_t)number + 1;
    bucket->n_bytes = sizeof header;
    return spill_file_append(&fates->ends, bucket->chunk, CHUNK_BYTES, err);
}

/* Where a record of the id may be written: MAX_RECORD_BYTES of room. */
static int reserve(struct lifetimes *fates, uint64_t id, struct bucket **ret, struct error *err)
{
    struct bucket *bucket = &fates->buckets[(id - 1) / LIFETIMES_BUCKET_IDS];

    *ret = bucket;
    if (!bucket->chunk) {
        bucket->chunk = malloc(CHUNK_BYTES);
        if (!bucket->chunk)
            return error_set(err, ERROR_NOMEM, "out of memory for a bucket");
        bucket->n_bytes = sizeof(struct chunk_header);
    }
    if (bucket->n_bytes + MAX_RECORD_BYTES > CHUNK_BYTES)
        return write_chunk(fates, bucket, err);
    return 0;
}

static uint64_t end_head(uint64_t id, unsigned kind)
{
    return (id - 1) % LIFETIMES_BUCKET_IDS << END_HEAD_BITS | kind;
}

int lifetimes_ended(struct lifetimes *fates, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    struct bucket *bucket;
    bool own_thread = end->thread == block->thread;
    bool is_call = end->ended_by == PAIRING_FREED || end->ended_by == PAIRING_REALLOCATED;
    bool other_group = is_call && end->group != end->block_group;
    int code = reserve(fates, block->allocation_id, &bucket, err);

    if (code)
        return code;
    uint8_t *out = bucket->chunk + bucket->n_bytes;
    out = varint_put(out, end_head(block->allocation_id,
                                   ((unsigned)end->ended_by + (other_group ? END_OTHER_GROUP : 0))
                                       | (own_thread ? END_OWN_THREAD : 0)));
    if (end->ended_by != PAIRING_EXEC)
        out = varint_put(out, end->time_ns - block->alloc_ns);
    if (is_call) {
        out = varint_put(out, end->node);
        if (!own_thread)
            out = varint_put(out, end->thread);
        out = varint_put(out, end->intervening + 1);
    }
    if (other_group) {
        out = varint_put(out, end->group);
        fates->has_changes = true;
    }
    bucket->n_bytes = (uint32_t)(out - bucket->chunk);
    return 0;
}

int lifetimes_moved(struct lifetimes *fates, const struct live_block *block, uint32_t group,
                    struct error *err)
{
    struct bucket *bucket;
    int code = reserve(fates, block->allocation_id, &bucket, err);

    if (code)
        return code;
    uint8_t *out = bucket->chunk + bucket->n_bytes;
    out = varint_put(out, end_head(block->allocation_id, END_MOVED));
    out = varint_put(out, ++fates->n_moves);
    out = varint_put(out, group);
    bucket->n_bytes = (uint32_t)(out - bucket->chunk);
    fates->has_changes = true;
    return 0;
}

int lifetimes_chain_ended(struct lifetimes *fates, const struct pairing_chain *chain,
                          struct error *err)
{
    struct bucket *bucket;
    int code = reserve(fates, chain->chain_id, &bucket, err);

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
    out = varint_put(out, chain->last_node);
    out = varint_put(out, chain->process);
    bucket->n_bytes = (uint32_t)(out - bucket->chunk);
    return 0;
}

/* ---- reading ---- */

int lifetimes_rewind(struct lifetimes *fates, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < fates->n_buckets; i++) {
        struct bucket *bucket = &fates->buckets[i];
        if (bucket->chunk && bucket->n_bytes > sizeof(struct chunk_header))
            code = write_chunk(fates, bucket, err);
        free(bucket->chunk);
        bucket->chunk = NULL;
    }
    if (code == 0)
        code = spill_file_flush(&fates->births, err);
    if (code == 0)
        code = spill_file_flush(&fates->ends, err);
    if (code)
        return code;
    fates->loaded = malloc(LIFETIMES_BUCKET_IDS * sizeof *fates->loaded);
    fates->input = malloc(READ_BYTES);
    if (fates->has_changes)
        fates->changed_groups = malloc(LIFETIMES_BUCKET_IDS * sizeof *fates->changed_groups);
    if (!fates->loaded || !fates->input || (fates->has_changes && !fates->changed_groups))
        return error_set(err, ERROR_NOMEM, "out of memory for a bucket");
    fates->input_at = fates->input_end = fates->input;
    fates->input_offset = 0;
    fates->n_read = 0;
    fates->last_ns = fates->last_address = fates->last_thread = fates->last_group = 0;
    return 0;
}

/* varint_get without its checks: what is read was written by this process a moment ago, and a
 * record never straddles its buffer. */
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

static int load_chain(struct lifetimes *fates, const uint8_t **in, uint64_t chain_id,
                      struct fate *fate, struct error *err)
{
    struct pairing_chain chain = {.chain_id = chain_id};
    uint64_t duration = 0;

    struct pairing_chain *chains = dynamic_array_reserve(fates->chains, &fates->max_chains,
                                                         fates->n_chains + 1, sizeof *chains);

    if (!chains)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu chains", fates->n_chains);
    fates->chains = chains;
    *in = get(*in, &chain.last_allocation_id);
    chain.last_allocation_id += chain_id;
    *in = get(*in, &chain.length);
    *in = get(*in, &chain.last_size);
    *in = get(*in, &duration);
    chain.end_ns = duration ? duration - 1 : PAIRING_UNKNOWN; /* the birth adds start_ns */
    *in = get(*in, &chain.copied_bytes);
    *in = get(*in, &chain.moves);
    *in = get32(*in, &chain.last_node);
    *in = get32(*in, &chain.process);
    fates->chains[fates->n_chains++] = chain;
    fate->chain = (uint32_t)fates->n_chains;
    return 0;
}

/* Chunks are read from the last to the first, so that what came later may be read before. */
static void load_move(const uint8_t **in, struct fate_groups *groups)
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

/* The head without what says that a group follows. */
static unsigned plain_head(unsigned head, bool *ret_other_group)
{
    unsigned kind = head & END_KIND_MASK;

    *ret_other_group =
        kind == PAIRING_FREED + END_OTHER_GROUP || kind == PAIRING_REALLOCATED + END_OTHER_GROUP;
    return *ret_other_group ? head - END_OTHER_GROUP : head;
}

static void load_end(const uint8_t **in, struct fate *into, unsigned head)
{
    struct fate fate = {
        .lifetime_ns = PAIRING_UNKNOWN,
        .intervening = PAIRING_UNKNOWN,
        .chain = into->chain,
        .ended_by = head & END_KIND_MASK,
        .is_own_thread = (head & END_OWN_THREAD) != 0,
    };
    if (fate.ended_by != PAIRING_EXEC)
        *in = get(*in, &fate.lifetime_ns);
    if (fate.ended_by == PAIRING_FREED || fate.ended_by == PAIRING_REALLOCATED) {
        *in = get32(*in, &fate.node);
        if (!fate.is_own_thread)
            *in = get32(*in, &fate.thread);
        *in = get(*in, &fate.intervening);
        fate.intervening--;
    }
    if (into->ended_by != PAIRING_FREED || fate.ended_by != PAIRING_UNSEEN) /* FA-4 */
        *into = fate;
}

static int load_chunk(struct lifetimes *fates, const uint8_t *chunk, uint32_t n_bytes,
                      uint64_t first_id, struct error *err)
{
    const uint8_t *in = chunk + sizeof(struct chunk_header);

    while (in < chunk + n_bytes) {
        uint64_t head = 0;
        in = get(in, &head);
        uint64_t index = head >> END_HEAD_BITS;
        struct fate *fate = &fates->loaded[index];
        if ((head & END_KIND_MASK) == END_CHAIN) {
            int code = load_chain(fates, &in, first_id + index, fate, err);
            if (code)
                return code;
        } else if ((head & END_KIND_MASK) == END_MOVED) {
            load_move(&in, &fates->changed_groups[index]);
        } else {
            bool other_group;
            load_end(&in, fate,
                     plain_head((unsigned)head & ((1 << END_HEAD_BITS) - 1), &other_group));
            if (other_group) {
                in = get32(in, &fates->changed_groups[index].free_group);
                fates->changed_groups[index].free_group++;
            }
        }
    }
    return 0;
}

static int load_bucket(struct lifetimes *fates, size_t index, struct error *err)
{
    uint8_t chunk[CHUNK_BYTES + VARINT_MAX_BYTES] = {0};
    struct chunk_header header;
    uint32_t number = fates->buckets[index].previous;
    uint64_t n_left = fates->n_births - (uint64_t)index * LIFETIMES_BUCKET_IDS;

    memset(fates->loaded, 0,
           (size_t)(n_left < LIFETIMES_BUCKET_IDS ? n_left : LIFETIMES_BUCKET_IDS)
               * sizeof *fates->loaded);
    if (fates->changed_groups)
        memset(fates->changed_groups, 0, LIFETIMES_BUCKET_IDS * sizeof *fates->changed_groups);
    fates->n_chains = 0;
    for (; number; number = header.previous) {
        size_t n_read;
        int code = spill_file_read(&fates->ends, (uint64_t)(number - 1) * CHUNK_BYTES, chunk,
                                   CHUNK_BYTES, &n_read, err);
        if (code)
            return code;
        memcpy(&header, chunk, sizeof header);
        code = load_chunk(fates, chunk, header.n_bytes, (uint64_t)index * LIFETIMES_BUCKET_IDS + 1,
                          err);
        if (code)
            return code;
    }
    return 0;
}

static int fill_input(struct lifetimes *fates, struct error *err)
{
    size_t left = (size_t)(fates->input_end - fates->input_at);
    size_t n_read;

    memmove(fates->input, fates->input_at, left);
    int code = spill_file_read(&fates->births, fates->input_offset, fates->input + left,
                               READ_BYTES - left - VARINT_MAX_BYTES, &n_read, err);
    fates->input_offset += n_read;
    fates->input_at = fates->input;
    fates->input_end = fates->input + left + n_read;
    return code;
}

static void read_birth(struct lifetimes *fates, struct allocation *ret)
{
    const uint8_t *in = fates->input_at;
    uint64_t head = 0;
    uint64_t delta = 0;
    uint64_t slack = 0;
    uint64_t alignment = 0;

    in = get(in, &head);
    in = get(in, &delta);
    ret->alloc_ns = fates->last_ns += delta;
    in = get(in, &delta);
    ret->address = fates->last_address += (uint64_t)zigzag_decode(delta);
    in = get(in, &ret->size_bytes);
    in = get(in, &slack);
    ret->slack_bytes = slack ? slack - 1 : LIVE_BLOCK_SLACK_UNKNOWN;
    in = get32(in, &ret->node);
    if (head & BIRTH_OTHER_THREAD)
        in = get32(in, &fates->last_thread);
    if (head & BIRTH_ALIGNED)
        in = get(in, &alignment);
    if (head & BIRTH_OTHER_GROUP)
        in = get32(in, &fates->last_group);
    ret->thread = fates->last_thread;
    ret->group = fates->last_group;
    ret->is_above = (head & BIRTH_ABOVE) != 0;
    ret->alignment_log2 = (uint8_t)alignment;
    ret->call =
        (uint8_t)((head & BIRTH_CALL_BITS) | (head & BIRTH_NON_MAIN ? LOG_CHUNK_NON_MAIN : 0));
    if (head & BIRTH_LINKED) {
        in = get(in, &delta);
        ret->chain_id = ret->allocation_id - delta;
        in = get(in, &ret->chain_position);
        in = get(in, &delta);
        ret->realloc_from_id = ret->allocation_id - delta;
    }
    fates->input_at = in;
}

static void take_fate(const struct fate *fate, struct allocation *ret)
{
    ret->ended_by = fate->ended_by;
    ret->lifetime_ns = fate->ended_by ? fate->lifetime_ns : PAIRING_UNKNOWN;
    ret->intervening = fate->ended_by ? fate->intervening : PAIRING_UNKNOWN;
    ret->free_node = fate->node;
    ret->free_thread = fate->is_own_thread ? ret->thread : fate->thread;
}

static void take_groups(const struct fate_groups *groups, struct allocation *ret)
{
    if (groups && groups->group)
        ret->group = groups->group - 1;
    ret->free_group = groups && groups->free_group ? groups->free_group - 1 : ret->group;
}

int lifetimes_next(struct lifetimes *fates, struct allocation *ret,
                   const struct pairing_chain **ret_chain, struct error *err)
{
    int code = 0;

    if (fates->n_read == fates->n_births)
        return 0;
    if (fates->n_read % LIFETIMES_BUCKET_IDS == 0)
        code = load_bucket(fates, (size_t)(fates->n_read / LIFETIMES_BUCKET_IDS), err);
    if (code == 0 && fates->input_end - fates->input_at < MAX_RECORD_BYTES)
        code = fill_input(fates, err);
    if (code)
        return code;
    const struct fate *fate = &fates->loaded[fates->n_read % LIFETIMES_BUCKET_IDS];
    memset(ret, 0, sizeof *ret);
    ret->allocation_id = ++fates->n_read;
    read_birth(fates, ret);
    take_fate(fate, ret);
    take_groups(fates->changed_groups
                    ? &fates->changed_groups[(fates->n_read - 1) % LIFETIMES_BUCKET_IDS]
                    : NULL,
                ret);
    *ret_chain = NULL;
    if (fate->chain) {
        struct pairing_chain *chain = &fates->chains[fate->chain - 1];
        ret->chain_id = ret->allocation_id;
        ret->chain_position = 1;
        chain->first_size = ret->size_bytes;
        chain->first_node = ret->node;
        chain->start_ns = ret->alloc_ns;
        if (chain->end_ns != PAIRING_UNKNOWN)
            chain->end_ns += ret->alloc_ns;
        *ret_chain = chain;
    }
    return 1;
}
