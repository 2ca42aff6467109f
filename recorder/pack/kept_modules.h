/* SPDX-License-Identifier: MIT */
/*
 * kept_modules: symbol tables of modules whose files are deleted or replaced while the program runs.
 *
 * Model:   The collector copies what changed shortly before (collector/log/module_file.h). Of other modules the file is
 *          opened here when the definition of the module is read. An open descriptor keeps the file when it is deleted.
 *          When modules come or go, and at the end, each path is looked up: if it no longer names the file, headers and
 *          symbol tables go into the packed log, as the same definitions that the collector writes.
 * Invariants
 *   KM-1 A file is taken only if it has the build id, or without one the key, that the log has of the module.
 *   KM-2 All recordings together hold KEPT_MODULES_MOST descriptors at most; what is beyond is not kept.
 * Files below /usr and /lib, and files of 32 bits, are left out.
 * Threads: one. Failure: symbols are missing.
 */
#ifndef MTRACE_RECORDER_KEPT_MODULES_H
#define MTRACE_RECORDER_KEPT_MODULES_H

#include "lib/logfile/definition_parts.h"
#include "lib/logfile/live_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
    KEPT_MODULES_MOST = 256
};

struct kept_module {
    uint32_t id;
    uint64_t key;
    int fd;
    struct stat status;
    char *path; /* owned */
};

struct kept_key {
    uint32_t id; /* of a module; 0: the log has parts of the file */
    uint64_t key;
};

struct kept_modules {
    uint64_t room_bytes; /* for parts; 0: nothing is kept */
    struct definition_parts parts;
    struct kept_module *held;
    size_t n_held, held_capacity;
    struct kept_key *keys;
    size_t n_keys, keys_capacity;
    void *payload; /* of a segment; owned */
};

/* Appends a DEFS payload to the packed log; false: it was not written. */
typedef bool kept_modules_write(void *context, const void *payload, uint32_t n_bytes);

/* most_bytes: of --keep-symbols. */
void kept_modules_init(struct kept_modules *kept, uint64_t most_bytes);
void kept_modules_done(struct kept_modules *kept);

/* Reads what definitions the live log gained, and writes what is gone; is_last: also if no module came or went. */
void kept_modules_look(struct kept_modules *kept, const struct live_log *live, bool is_last,
                       kept_modules_write *write, void *context);

#endif
