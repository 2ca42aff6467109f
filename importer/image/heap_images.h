/* SPDX-License-Identifier: MIT */
/*
 * heap_images: adds the heap images beside the logs (LOG.image1, LOG.image2, …), and a core, to the
 * database.
 *
 * Call it when the rows of blocks and of code are written, before the database is committed. An
 * image that cannot be read is left out with a warning: the recording stays whole.
 *
 * Threads: one. Errors: memory, database.
 */
#ifndef MTRACE_IMPORTER_HEAP_IMAGES_H
#define MTRACE_IMPORTER_HEAP_IMAGES_H

#include "importer/image/heap_graph.h"
#include "importer/model/definitions.h"
#include "lib/base/error.h"

#include <sqlite3.h>
#include <stdint.h>

struct heap_images_result {
    uint32_t n_images;
    uint32_t n_refused;
    char refusal[512]; /* why the first image was left out; "": none was */
};

struct heap_images_options {
    const char *core; /* of one of the processes; NULL: none */
    const struct ignored_link *ignored;
    size_t n_ignored;
};

/* origin_ns: CLOCK_MONOTONIC at time 0 of the database. */
int heap_images_write(sqlite3 *db, const struct definitions *definitions, uint64_t origin_ns,
                      const struct heap_images_options *options, struct heap_images_result *ret,
                      struct error *err);

#endif
