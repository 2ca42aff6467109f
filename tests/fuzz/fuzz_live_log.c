/* SPDX-License-Identifier: MIT */
/*
 * A live log that the recorded program overwrites: whatever words it stores where, while the
 * recorder packs and at the end, packing reads nothing outside, ends, and every frame it writes can
 * be read.
 *
 * Input: byte 0 bit 0: short-lived blocks are elided, bit 1: the file is cut at the end. Then
 * stores of 12 bytes each: where (32 bits; the upper eight choose a segment's header, a payload, or
 * the file's header), and the word. After every fourth the recorder packs what there is.
 */
#include "recorder/pack/packing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    N_SEGMENTS = 6,
    STORE_BYTES = 12,
    STORES_PER_STEP = 4,
    MAX_STORES = 400,
    N_PAIRS = 300,
    HEADER_WORDS = sizeof(struct log_header) / 8,
    SEGMENT_HEADER_WORDS = sizeof(struct log_segment) / 8,
    SEGMENT_WORDS = LOG_SEGMENT_BYTES / 8,
};

static const uint64_t run_id = 0x1122334455667788;

static uint64_t *payload_of(const struct live_log *live, uint32_t index)
{
    return (uint64_t *)(void *)((uint8_t *)live_log_segment(live, index)
                                + LOG_SEGMENT_HEADER_BYTES);
}

static void begin(const struct live_log *live, uint32_t index, enum log_segment_kind kind,
                  uint32_t n_bytes)
{
    struct log_segment *segment = live_log_segment(live, index);

    *segment = (struct log_segment){.kind = kind,
                                    .sequence = index + 1,
                                    .committed_bytes = n_bytes,
                                    .reserved_bytes = n_bytes,
                                    .thread = 1,
                                    .index = index,
                                    .base_ticks = 5000,
                                    .run_id = run_id};
    atomic_store(&segment->state, LOG_STATE_FILLING);
}

static void fill_events(const struct live_log *live, uint32_t index)
{
    uint64_t *words = payload_of(live, index);

    for (uint64_t i = 0; i < N_PAIRS; i++, words += 5) {
        uint64_t address = 0x1000 + (i % 7) * 64;
        words[0] = LOG_ALLOC | (10 * i) << 8 | (uint64_t)LOG_NODE_FIRST << 32;
        words[1] = address;
        words[2] = 24;
        words[3] = LOG_FREE | (10 * i + 5) << 8 | (uint64_t)LOG_NODE_FIRST << 32;
        words[4] = address;
    }
    begin(live, index, LOG_SEGMENT_EVENTS, N_PAIRS * 40);
}

static void fill_definitions(const struct live_log *live)
{
    struct log_node *nodes = (void *)payload_of(live, 2);
    struct log_def *def = (void *)payload_of(live, 3);

    nodes[LOG_NODE_FIRST] = (struct log_node){.parent = LOG_NODE_COMPLETE, .address = 0x4000};
    begin(live, 2, LOG_SEGMENT_NODES, 0);
    *def = (struct log_def){.kind = LOG_DEF_THREAD, .magic = LOG_DEF_MAGIC, .id = 1};
    begin(live, 3, LOG_SEGMENT_DEFS, LOG_DEF_ALIGN);
}

/* Segments 0 and 1 hold events, sealed; 2 nodes, 3 definitions, 4 side records. */
static void fill(const struct live_log *live)
{
    struct log_header *file = live->file;
    struct log_fallback_record *side = (void *)payload_of(live, 4);

    fill_events(live, 0);
    fill_events(live, 1);
    fill_definitions(live);
    *side = (struct log_fallback_record){
        .words = {LOG_FREE, 64}, .ticks = 9, .valid = LOG_FALLBACK_VALID};
    begin(live, 4, LOG_SEGMENT_FALLBACK, sizeof(*side));
    file->clock = LOG_CLOCK_MONOTONIC;
    file->start_ticks = 1000;
    atomic_store(&file->n_nodes, LOG_NODE_FIRST + 1);
    atomic_store(&file->next_sequence, N_SEGMENTS);
    atomic_store(&live_log_segment(live, 0)->state, LOG_STATE_SEALED);
    atomic_store(&live_log_segment(live, 1)->state, LOG_STATE_SEALED);
    atomic_store(&live_log_segment(live, 1)->next, 1);
    atomic_store(&file->sealed_stack, 2);
}

/* As the program could, through a mapping of its own. */
static void store(const struct live_log *live, const uint8_t *record)
{
    uint64_t *words = (uint64_t *)(void *)live->file;
    uint32_t where;
    uint64_t word;

    memcpy(&where, record, sizeof(where));
    memcpy(&word, record + sizeof(where), sizeof(word));
    switch (where >> 24 & 3) {
    case 0:
        words[where % HEADER_WORDS] = word;
        break;
    case 1:
        words += LOG_FILE_HEADER_BYTES / 8 + (size_t)(where % N_SEGMENTS) * SEGMENT_WORDS;
        words[where / N_SEGMENTS % SEGMENT_HEADER_WORDS] = word;
        break;
    default:
        payload_of(live, where % N_SEGMENTS)[where / N_SEGMENTS % 2000] = word;
    }
}

static void check_frame(struct packing *packing)
{
    static uint64_t words[PACK_PAYLOAD_MAX_BYTES / 8];
    struct log_frame frame;

    memcpy(&frame, packing->frame, sizeof(frame));
    if (frame.magic
        && (pack_check_header(&frame, 0, NULL)
            || pack_unpack(packing->pack, &frame, packing->frame + sizeof(frame), 0, words, NULL)))
        abort();
}

static void run(struct packing *packing, const uint8_t *data, size_t size)
{
    struct live_log *live = packing->live;
    uint32_t n_packed;
    size_t n = 0;

    for (size_t at = 1; at + STORE_BYTES <= size && n < MAX_STORES; at += STORE_BYTES) {
        store(live, data + at);
        if (++n % STORES_PER_STEP == 0) {
            (void)packing_step(packing, &n_packed, NULL);
            check_frame(packing);
        }
    }
    if (data[0] & 2)
        (void)!ftruncate(live->fd, data[0] & 4 ? 0 : LOG_FILE_HEADER_BYTES + LOG_SEGMENT_BYTES);
    live_log_read_header(live);
    (void)packing_finish(packing, &live->seen, NULL);
    check_frame(packing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct packed_log packed = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
    const uint8_t nothing = 0;
    struct pack *pack = pack_new();
    struct live_log live = {.fd = -1};
    struct packing *packing;
    char path[64];

    if (size == 0)
        data = &nothing;
    (void)snprintf(path, sizeof(path), "/dev/shm/mtrace-fuzz-%d.live", (int)getpid());
    if (!pack || packed.fd < 0 || live_log_create(path, run_id, N_SEGMENTS, &live, NULL) != 0)
        abort();
    live_log_remove(&live);
    packing = packing_new(&live, &packed, pack, 1);
    if (!packing || ((data[0] & 1) && !packing_start_eliding(packing, 1000000)))
        abort();
    if ((data[0] & 3) == 3)
        packing_expect_readers(packing);
    fill(&live);
    run(packing, data, size);
    packing_free(packing);
    live_log_close(&live);
    packed_log_close(&packed);
    pack_free(pack);
    return 0;
}
