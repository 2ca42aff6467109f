/* SPDX-License-Identifier: MIT */
/*
 * store: the folder of mtrace-gather, and the logs in it.
 *
 * Model:   a log is one recording of a process, told apart by what its header page says: random run id, pid, image, start. It is
 *          found again by them, also after a restart, and goes on where its file ends; of several files the one that was written to last does.
 * Invariants
 *   ST-1 Names are made here, of [A-Za-z0-9._+-]: PROGRAM.PID.TIME.dat (TIME in UTC), and FILE.PID.N for a log whose
 *        header names one of FILE as its parent, as mtrace-record names them, so that they are imported together.
 *   ST-2 A file is made by us with mode 0600 in a folder that only we can write to; none that was there is opened but as a log of ours,
 *        and never through a link.
 *   ST-3 What arrived is never changed: bytes are added at the end, and the header page stays that of the same recording.
 *   ST-4 The files together never have more than max_bytes.
 *   ST-5 A file is under a lock while it is received, as it is while it is recorded, so that others see that it grows (file_lock.h);
 *        one that could not be had is tried again with what is added next.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_STORE_H
#define MTRACE_REMOTE_STORE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    STORE_NAME_BYTES = 192
};

/* A log that there is a file of. */
struct store_log {
    uint64_t run_id;
    uint64_t start_unix_ns;
    uint32_t pid;
    uint32_t image;
    char name[STORE_NAME_BYTES];
    uint64_t size_bytes;
    int64_t written_ns;   /* of a file that was there: when it was last written to */
    int fd;               /* -1: nobody sends it now */
    bool is_locked;       /* or cannot be */
    uint64_t owner;       /* who sends it, a number of the caller's */
    bool is_reported_cut; /* the caller's: that nothing of it comes now was said */
};

struct store {
    int folder;         /* -1: not open */
    bool has_new_names; /* the folder itself may not be on the disk */
    uint64_t max_bytes;
    uint64_t n_bytes;        /* of all files */
    uint64_t n_object_bytes; /* of those that are no logs (object_store.h) */
    struct store_log **logs;
    size_t n_logs, capacity;
};

/* Makes the folder if it is not there. Another mtrace-gather in it, a folder of another user or one that others may write to: an error. */
int store_open(const char *path, uint64_t max_bytes, struct store *ret_store, struct error *err);
void store_close(struct store *store);

/* What a log begins with. */
struct store_offer {
    const void *page;    /* its header page */
    const char *program; /* any n_program bytes */
    size_t n_program;
};

/* The log with this header page, made if it is new, or if is_again. Who sent it before sends it no more. The result is the store's. */
int store_begin(struct store *store, const struct store_offer *offer, bool is_again, uint64_t owner,
                struct store_log **ret_log, struct error *err);

/* Adds n_bytes at the end; on failure some of them may have been. */
int store_add(struct store *store, struct store_log *log, const void *bytes, size_t n_bytes,
              struct error *err);

int store_set_header(struct store_log *log, const void *page, struct error *err);

/* Is all of it on the disk, and its name? It waits until it is. */
int store_sync(struct store *store, struct store_log *log, struct error *err);

/* Nobody sends it any more. */
void store_let_go(struct store_log *log);

#endif
