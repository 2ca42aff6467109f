/* SPDX-License-Identifier: MIT */
/*
 * store: the folder of mtrace-gather and its logs.
 *
 * A log is one recording of a process, identified by its header page: random run id, PID, image,
 * start time. It is found again by them, also after a restart, and continues at the end of its
 * file; of several files the one written last.
 *
 * Invariants
 *   ST-1 Names are made here from [A-Za-z0-9._+-]: PROGRAM.PID.TIME.dat (UTC), or FILE.PID.N if the
 *        header names a log of FILE as parent.
 *   ST-2 Files are created with mode 0600 in a folder that only we can write to; existing ones are
 *        opened only as logs of ours, never through a link.
 *   ST-3 Received data is never changed: bytes are appended, and a new header page is of the same
 *        recording.
 *   ST-4 The files never take more than max_bytes together.
 *   ST-5 A file is locked while it is received, as while it is recorded, so that others see that it
 *        grows (writer_liveness.h).
 *
 * Notes: mtrace-record uses the same names, so logs of one run are imported together. If the lock
 * of ST-5 is not available, it is tried again with the next data.
 *
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

/* A log with a file. */
struct store_log {
    uint64_t run_id;
    uint64_t start_unix_ns;
    uint32_t pid;
    uint32_t image;
    char name[STORE_NAME_BYTES];
    uint64_t size_bytes;
    int64_t written_ns;   /* of an existing file: its last modification */
    int fd;               /* -1: not being received */
    bool is_locked;       /* or cannot be locked */
    uint64_t owner;       /* its sender; a number chosen by the caller */
    bool is_reported_cut; /* the caller's: a message said that it was cut */
};

struct store {
    int folder;         /* -1: not open */
    bool has_new_names; /* the folder may need fsync */
    uint64_t max_bytes;
    uint64_t n_bytes; /* of all files */
    struct store_log **logs;
    size_t n_logs, capacity;
};

/* Creates the folder if needed. Fails if another mtrace-gather uses it, or if it belongs to or is
 * writable by other users. */
int store_open(const char *path, uint64_t max_bytes, struct store *ret_store, struct error *err);
void store_close(struct store *store);

/* The data that a log begins with. */
struct store_offer {
    const void *page;    /* its header page */
    const char *program; /* any n_program bytes */
    size_t n_program;
};

/* Finds the log with this header page; creates it if it is new or is_again. Takes it away from its
 * previous sender. The store owns the result. */
int store_begin(struct store *store, const struct store_offer *offer, bool is_again, uint64_t owner,
                struct store_log **ret_log, struct error *err);

/* Appends n_bytes; on failure some of them may have been written. */
int store_add(struct store *store, struct store_log *log, const void *bytes, size_t n_bytes,
              struct error *err);

int store_set_header(struct store_log *log, const void *page, struct error *err);

/* Syncs the log and its name to the disk, and waits. False: not synced. */
int store_sync(struct store *store, struct store_log *log, struct error *err);

/* Call when it is not being received any more. */
void store_let_go(struct store_log *log);

#endif
