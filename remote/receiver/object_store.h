/* SPDX-License-Identifier: MIT */
/*
 * object_store: executables and debug files of other machines, in the folder of mtrace-gather.
 *
 * They are named .build-id/ab/cdef… and .build-id/ab/cdef….debug, where mtrace-import --debug-dir
 * finds them.
 *
 * Invariants
 *   OT-1 A file gets its name only when it is complete, on the disk, and its own build id equals
 *        the name.
 *   OT-2 Names are made here from hexadecimal digits; folders (0700) and files (0600) are ours, and
 *        links are not followed.
 *   OT-3 The store's n_bytes and n_object_bytes include existing and arriving objects.
 *   OT-4 Objects take at most half of the store's limit; the rest is for logs.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_OBJECT_STORE_H
#define MTRACE_REMOTE_OBJECT_STORE_H

#include "remote/receiver/store.h"
#include "remote/wire/build_id.h"
#include "remote/wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

#define OBJECT_STORE_MAX_BYTES (UINT64_C(2) << 30) /* per object */

/* An arriving object; fd -1: none. */
struct object_file {
    int fd;
    int folder; /* .build-id/ab */
    char name[2 * BUILD_ID_BYTES + 8];
    char part[2 * BUILD_ID_BYTES + 32]; /* its name until it is complete */
    struct build_id id;
    uint64_t size_bytes, written_bytes;
};

/* Counts existing objects; creates the folder if objects are fetched. */
int object_store_open(struct store *store, bool is_fetching, struct error *err);

/* ERROR_FORMAT: the offer is invalid. WIRE_WANTED: the object is missing and fits, also into
 * room_bytes of its sender; ret_file is open then. */
int object_store_begin(struct store *store, const struct wire_object *object, uint64_t owner,
                       uint64_t room_bytes, enum wire_wish *ret_wish, struct object_file *ret_file,
                       struct error *err);

/* n_bytes is at most what the file still lacks. WIRE_WANTED: continue; else drop the file. */
enum wire_wish object_store_add(struct store *store, struct object_file *file, const void *bytes,
                                size_t n_bytes);

/* Checks and names the file (OT-1), or deletes it. WIRE_KEPT, WIRE_NOT_IT or WIRE_NOT_WRITTEN. */
enum wire_wish object_store_end(struct store *store, struct object_file *file);

/* The rest will not arrive. */
void object_store_drop(struct store *store, struct object_file *file);

#endif
