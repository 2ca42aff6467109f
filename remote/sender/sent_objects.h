/* SPDX-License-Identifier: MIT */
/*
 * sent_objects: the executables, libraries and debug files that logs name, for a receiver that
 * requests them.
 *
 * Module definitions are read from the frames of a log as it grows. Each build id is offered once
 * per connection: the file itself and, if present in /usr/lib/debug/.build-id, its debug file.
 *
 * Invariants
 *   SJ-1 Only regular files are opened; a file is sent only if it has the logged build id, or is
 *        mapped by the process (MJ-1).
 *   SJ-2 At most SENT_OBJECTS_MOST are known; others are counted.
 *   SJ-3 An object is settled when the receiver's decision is final; it is not offered again.
 *
 * Notes: SJ-1: this keeps other files private if the log comes from a hostile program.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENT_OBJECTS_H
#define MTRACE_REMOTE_SENT_OBJECTS_H

#include "remote/sender/log_tail.h"
#include "remote/wire/build_id.h"
#include "remote/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SENT_OBJECTS_MOST = 4096
};

enum sent_object_state {
    SENT_OBJECT_WAITING, /* not offered yet */
    SENT_OBJECT_OFFERED,
    SENT_OBJECT_FLOWING,
    SENT_OBJECT_ENDING, /* all of it was sent */
    SENT_OBJECT_SETTLED,
};

struct sent_object {
    struct build_id id;
    uint32_t kind; /* enum wire_object_kind */
    char *path;    /* owned */
    enum sent_object_state state;
    enum wire_wish outcome; /* of a settled one */
};

struct sent_objects {
    struct sent_object *objects; /* owned; the receiver knows them by index */
    size_t n, capacity;
    size_t n_beyond;     /* SJ-2 */
    bool has_missed;     /* definitions were punched out before they were read */
    size_t next;         /* to be offered */
    bool is_one_offered; /* the one before `next`, and not completely sent */
    int fd;              /* of that one; -1: none */
    uint64_t sent_bytes, size_bytes;
    size_t most_next; /* the maximum over all connections */
    uint64_t most_bytes;
};

void sent_objects_init(struct sent_objects *list);
void sent_objects_done(struct sent_objects *list);

/* Adds what the log at this path names from *at on, and moves *at. For parts that were punched out:
 * what the process has mapped. */
void sent_objects_learn(struct sent_objects *list, const struct log_tail *tail,
                        const char *log_path, uint64_t *at);

/* Opens the next one, which is offered by its number; false: there is none, or one is being
 * sent. */
bool sent_objects_next(struct sent_objects *list, struct wire_object *ret_offer,
                       uint32_t *ret_number);

/* The one that is being sent; NULL: none. */
const struct sent_object *sent_objects_flowing(const struct sent_objects *list);

/* The object was sent completely, or its file has no more data. */
void sent_objects_end(struct sent_objects *list);

/* Handles the receiver's answer for a number. false: it is invalid. *ret_is_cut: sending must stop
 * now. */
bool sent_objects_take(struct sent_objects *list, uint32_t number, uint64_t wish, bool *ret_is_cut);

bool sent_objects_are_settled(const struct sent_objects *list);

/* The number of objects settled with this outcome, and *ret_path of one of them. */
size_t sent_objects_count(const struct sent_objects *list, enum wire_wish outcome,
                          const char **ret_path);

/* More was offered or sent than on any connection before; false if connections are lost at the same
 * place repeatedly. */
bool sent_objects_got_further(struct sent_objects *list);

/* On a new connection: offers again what the receiver is not known to have. */
void sent_objects_restart(struct sent_objects *list);

#endif
