/* SPDX-License-Identifier: MIT */
/*
 * fake_collector: the collector's side of a pool, single-threaded, for tests of the recorder.
 *
 * Model:   events are frees whose addresses are 16, 32, 48 …, so a reader can tell exactly which of
 *          the n events a log holds, and their node is the newest. Definitions are nodes whose
 *          parent is their own id.
 */
#ifndef MTRACE_TESTS_UNIT_RECORDER_FAKE_COLLECTOR_H
#define MTRACE_TESTS_UNIT_RECORDER_FAKE_COLLECTOR_H

#include "lib/logfile/live_log.h"

#include <stdint.h>

struct fake_collector {
    struct live_log log; /* a mapping of its own */
    struct log_segment *events;
    struct log_segment *nodes;
    uint64_t n_events;
    uint32_t n_nodes;
};

/* Attaches to the pool at path. */
void fake_collector_attach(struct fake_collector *fake, const char *path);
void fake_collector_detach(struct fake_collector *fake);

/* One more event. Without a free segment it waits a little if there is a recorder, then enlarges
 * the file. */
void fake_collector_event(struct fake_collector *fake);

/* One more node. */
void fake_collector_node(struct fake_collector *fake);

/* Seals the open segment. */
void fake_collector_seal(struct fake_collector *fake);

#endif
