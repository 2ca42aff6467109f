/* SPDX-License-Identifier: MIT */
/*
 * sent_objects: the executables, libraries and debug files that logs name, for a receiver that asks for them.
 *
 * Model:   definitions of modules are read from the frames of a log, as they come; each build id is offered once on a connection, as a file of its own
 *          and, where there is one in /usr/lib/debug/.build-id, as a debug file.
 * Invariants
 *   SJ-1 A file is opened only if it is a regular one, and sent only if it has the build id by which the log names it, or is the very one that its
 *        process has mapped (MJ-1). What the log of a hostile program names otherwise stays here, untouched.
 *   SJ-2 No more than SENT_OBJECTS_MOST are known; others are counted.
 *   SJ-3 One is settled when the receiver has said the last word on it; what it has, it is not offered again.
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
    SENT_OBJECT_WAITING, /* for its turn */
    SENT_OBJECT_OFFERED,
    SENT_OBJECT_FLOWING,
    SENT_OBJECT_ENDING, /* all of it is sent */
    SENT_OBJECT_SETTLED,
};

struct sent_object {
    struct build_id id;
    uint32_t kind; /* enum wire_object_kind */
    char *path;    /* owned */
    enum sent_object_state state;
    enum wire_wish outcome; /* of one that is settled */
};

struct sent_objects {
    struct sent_object *objects; /* owned; the receiver knows them by their place */
    size_t n, capacity;
    size_t n_beyond; /* SJ-2 */
    bool
        has_missed; /* definitions that were given back before they were read here: known is only what was mapped */
    size_t next;         /* to be offered */
    bool is_one_offered; /* that before `next`, and not all of it is sent */
    int fd;              /* of that; -1: there is none */
    uint64_t sent_bytes, size_bytes;
    size_t most_next; /* as far as it went on any connection */
    uint64_t most_bytes;
};

void sent_objects_init(struct sent_objects *list);
void sent_objects_done(struct sent_objects *list);

/* Adds what the log of this path names from *at on; moves that. Of what was given back: what its process has mapped. */
void sent_objects_learn(struct sent_objects *list, const struct log_tail *tail,
                        const char *log_path, uint64_t *at);

/* Opens the next one, to be offered by its number; false: there is none, or one is under way. */
bool sent_objects_next(struct sent_objects *list, struct wire_object *ret_offer,
                       uint32_t *ret_number);

/* That which is under way and wanted; NULL: none. */
const struct sent_object *sent_objects_flowing(const struct sent_objects *list);

/* All of the flowing one is sent, or there is no more of it. */
void sent_objects_end(struct sent_objects *list);

/* The receiver's answer of a number. false: it makes no sense. *ret_is_cut: it was flowing, and is to be ended. */
bool sent_objects_take(struct sent_objects *list, uint32_t number, uint64_t wish, bool *ret_is_cut);

bool sent_objects_are_settled(const struct sent_objects *list);

/* How many are settled so, and *ret_path of one of them. */
size_t sent_objects_count(const struct sent_objects *list, enum wire_wish outcome,
                          const char **ret_path);

/* More was offered or sent than ever before; not so on one more connection that is lost at the same place. */
bool sent_objects_got_further(struct sent_objects *list);

/* A new connection: what the receiver is not known to have is offered again. */
void sent_objects_restart(struct sent_objects *list);

#endif
