/* SPDX-License-Identifier: MIT */
#include "tests/unit/recorder/fake_collector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    MAX_WAITS = 100 /* for a recorder that is there, of 0.1 ms */
};

void fake_collector_attach(struct fake_collector *fake, const char *path)
{
    struct log_header *file;

    memset(fake, 0, sizeof(*fake));
    assert_int_equal(live_log_open(path, true, &fake->log, NULL), 0);
    file = fake->log.file;
    file->clock = LOG_CLOCK_MONOTONIC;
    file->pid = (uint32_t)getpid();
    file->start_ticks = file->start_monotonic_ns = 1000;
    fake->n_nodes = LOG_NODE_FIRST;
    atomic_store(&file->n_nodes, LOG_NODE_FIRST);
}

void fake_collector_detach(struct fake_collector *fake)
{
    live_log_close(&fake->log);
}

static struct log_segment *pop(struct fake_collector *fake)
{
    _Atomic uint64_t *stack = &fake->log.file->free_stack;
    uint64_t head = atomic_load(stack);

    while ((uint32_t)head) {
        struct log_segment *segment;
        assert_true(live_log_refresh(&fake->log));
        segment = live_log_segment(&fake->log, (uint32_t)head - 1);
        if (atomic_compare_exchange_weak(&fake->log.file->free_stack, &head,
                                         ((head >> 32) + 1) << 32 | segment->next))
            return segment;
    }
    return NULL;
}

static struct log_segment *grow(struct fake_collector *fake)
{
    uint32_t index = fake->log.n_mapped;
    off_t n_bytes = LOG_FILE_HEADER_BYTES + (off_t)(index + 1) * LOG_SEGMENT_BYTES;
    struct log_segment *segment;

    assert_int_equal(ftruncate(fake->log.fd, n_bytes), 0);
    atomic_store(&fake->log.file->n_segments, index + 1);
    assert_true(live_log_refresh(&fake->log));
    segment = live_log_segment(&fake->log, index);
    segment->index = index;
    return segment;
}

static struct log_segment *take(struct fake_collector *fake, enum log_segment_kind kind)
{
    const struct timespec pause = {.tv_nsec = 100000};
    struct log_segment *segment = pop(fake);

    for (int i = 0; !segment && fake->log.file->recorder_pid && i < MAX_WAITS; i++) {
        nanosleep(&pause, NULL);
        segment = pop(fake);
    }
    if (!segment)
        segment = grow(fake);
    assert_int_equal(segment->state, LOG_STATE_FREE);
    segment->kind = kind;
    segment->committed_bytes = segment->reserved_bytes = 0;
    segment->thread = 1;
    segment->base_ticks = 5000;
    segment->run_id = fake->log.file->run_id;
    segment->sequence = atomic_fetch_add(&fake->log.file->next_sequence, 1);
    if (kind == LOG_SEGMENT_NODES) {
        segment->first_node = fake->n_nodes / LOG_NODES_PER_SEGMENT * LOG_NODES_PER_SEGMENT;
        memset((uint8_t *)segment + LOG_SEGMENT_HEADER_BYTES, 0, LOG_SEGMENT_PAYLOAD_BYTES);
    }
    atomic_store(&segment->state, LOG_STATE_FILLING);
    return segment;
}

void fake_collector_seal(struct fake_collector *fake)
{
    struct log_segment *segment = fake->events;
    uint64_t head = atomic_load(&fake->log.file->sealed_stack);

    if (!segment)
        return;
    fake->events = NULL;
    atomic_store(&segment->state, LOG_STATE_SEALED);
    do
        atomic_store(&segment->next, (uint32_t)head);
    while (!atomic_compare_exchange_weak(&fake->log.file->sealed_stack, &head,
                                         ((head >> 32) + 1) << 32 | (segment->index + 1)));
}

void fake_collector_event(struct fake_collector *fake)
{
    uint64_t *words;
    uint32_t used;

    if (fake->events && fake->events->committed_bytes + 16 > LOG_SEGMENT_PAYLOAD_BYTES)
        fake_collector_seal(fake);
    if (!fake->events) {
        uint32_t nodes_index = fake->nodes ? fake->nodes->index : 0;
        fake->events = take(fake, LOG_SEGMENT_EVENTS);
        if (fake->nodes) /* the mapping may have moved */
            fake->nodes = live_log_segment(&fake->log, nodes_index);
    }
    used = fake->events->committed_bytes;
    words = (uint64_t *)(void *)((uint8_t *)fake->events + LOG_SEGMENT_HEADER_BYTES + used);
    words[0] = LOG_FREE | (fake->n_events & 0xffff) << 8 | (uint64_t)(fake->n_nodes - 1) << 32;
    words[1] = ++fake->n_events * 16;
    atomic_store(&fake->events->committed_bytes, used + 16);
}

void fake_collector_node(struct fake_collector *fake)
{
    struct log_node *nodes;
    uint32_t i;

    if (!fake->nodes || fake->n_nodes - fake->nodes->first_node == LOG_NODES_PER_SEGMENT) {
        uint32_t events_index = fake->events ? fake->events->index : 0;
        fake->nodes = take(fake, LOG_SEGMENT_NODES);
        if (fake->events)
            fake->events = live_log_segment(&fake->log, events_index);
    }
    nodes = (struct log_node *)(void *)((uint8_t *)fake->nodes + LOG_SEGMENT_HEADER_BYTES);
    i = fake->n_nodes - fake->nodes->first_node;
    nodes[i].parent = fake->n_nodes;
    atomic_store(&nodes[i].address, 0x1000 + fake->n_nodes);
    atomic_store(&fake->log.file->n_nodes, ++fake->n_nodes);
}
