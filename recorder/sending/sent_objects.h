/* SPDX-License-Identifier: MIT */
/*
 * sent_objects: the executables, libraries and debug files that logs name, for a receiver that asks for them.
 *
 * Model:   definitions of modules are read from the frames of a log, as they come; each build id is offered once on a connection, as a file of its own
 *          and, where there is one in /usr/lib/debug/.build-id, as a debug file.
 * Invariants
 *   SJ-1 A file is opened only if it is a regular one, and sent only if it has the build id by which the log names it. What the log of
 *        a hostile program names otherwise stays here.
 *   SJ-2 No more than SENT_OBJECTS_MOST are known.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_SENT_OBJECTS_H
#define MTRACE_RECORDER_SENT_OBJECTS_H

#include "recorder/sending/log_tail.h"
#include "transfer/build_id.h"
#include "transfer/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SENT_OBJECTS_MOST = 4096
};

struct sent_object {
    struct build_id id;
    uint32_t kind; /* enum wire_object_kind */
    char *path;    /* owned */
};

struct sent_objects {
    struct sent_object *objects; /* owned */
    size_t n, capacity;
    size_t next; /* to be offered */
    int fd;      /* of the one before; -1: there is none under way */
    bool is_wanted;
    uint64_t sent_bytes, size_bytes;
    size_t most_next; /* as far as it went on any connection */
    uint64_t most_bytes;
    uint64_t n_sent; /* files that the receiver took */
};

void sent_objects_init(struct sent_objects *list);
void sent_objects_done(struct sent_objects *list);

/* Adds what the log names from *at on; moves that. */
void sent_objects_learn(struct sent_objects *list, const struct log_tail *tail, uint64_t *at);

/* Opens the next one that can be sent, to be offered; false: there is none. */
bool sent_objects_next(struct sent_objects *list, struct wire_object *ret_offer);

/* Its turn is over. */
void sent_objects_close(struct sent_objects *list);

/* More was offered or sent than ever before; not so on one more connection that is lost at the same place. */
bool sent_objects_got_further(struct sent_objects *list);

/* A new connection: all are offered again. */
void sent_objects_restart(struct sent_objects *list);

#endif
