/* SPDX-License-Identifier: MIT */
/*
 * object_store: executables and debug files of other machines, in the folder of mtrace-gather as .build-id/ab/cdef… and
 * .build-id/ab/cdef….debug, where mtrace-import --debug-dir finds them.
 *
 * Invariants
 *   OT-1 A file has its name only when all of it came, is on the disk, and its own build id is that name.
 *   OT-2 Names are made here, of hexadecimal digits; folders and files are made by us, 0700 and 0600, and never reached through a link.
 *   OT-3 What is there counts in the store's n_bytes and n_object_bytes, and so does what is coming.
 *   OT-4 They take no more than half of what the store may have: the rest is for logs.
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

#define OBJECT_STORE_MAX_BYTES (UINT64_C(2) << 30) /* of one */

/* One that comes; fd -1: none does. */
struct object_file {
    int fd;
    int folder; /* .build-id/ab */
    char name[2 * BUILD_ID_BYTES + 8];
    char part[2 * BUILD_ID_BYTES + 32]; /* its name until it is whole */
    struct build_id id;
    uint64_t size_bytes, written_bytes;
};

/* Counts what there is; makes its folder if objects are fetched. */
int object_store_open(struct store *store, bool is_fetching, struct error *err);

/* ERROR_FORMAT: it makes no sense. WIRE_WANTED: it is not there, and there is room, also among the room_bytes that its sender has left;
 * ret_file is open then. */
int object_store_begin(struct store *store, const struct wire_object *object, uint64_t owner,
                       uint64_t room_bytes, enum wire_wish *ret_wish, struct object_file *ret_file,
                       struct error *err);

/* No more than the file still lacks. WIRE_WANTED: so is the rest; else the file is to be dropped. */
enum wire_wish object_store_add(struct store *store, struct object_file *file, const void *bytes,
                                size_t n_bytes);

/* OT-1: else it is gone. WIRE_KEPT, WIRE_NOT_IT or WIRE_NOT_WRITTEN. */
enum wire_wish object_store_end(struct store *store, struct object_file *file);

/* It comes no more. */
void object_store_drop(struct store *store, struct object_file *file);

#endif
