/* SPDX-License-Identifier: MIT */
/*
 * wire: the messages between a sender of logs and mtrace-gather, once the channel is open.
 *
 * Each message is a struct wire_head and n_bytes of payload, little-endian. The sender begins:
 *
 *     HELLO ──►  ◄── HELLO
 *     BEGIN log, header page, program ──►  ◄── HAVE so many bytes, and the hash of the last of them
 *     AGAIN, if those are not its bytes ──►  ◄── HAVE: a new file, with only the header page
 *     DATA, DATA, HEADER, DATA … ──►  ◄── ACK: everything below `offset` is written
 *     SYNC ──►  ◄── SYNCED: everything below `offset` is on the disk
 *     END, or CUT if the log has no end ──►  ◄── DONE: all of it is on the disk
 *
 * The sender chooses the numbers of logs; any number of them share one connection.
 *
 * Invariants
 *   WI-1 A reader returns only messages of a known kind within its length limit; any other ends the
 *        connection.
 *   WI-2 DATA may only append at the end of the receiver's file.
 *
 * Threads: any, one for each reader.
 */
#ifndef MTRACE_REMOTE_WIRE_H
#define MTRACE_REMOTE_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

#define WIRE_MAGIC "mtrace\r\n"

enum {
    WIRE_VERSION = 1,
    WIRE_MAX_BYTES = 65536,
    WIRE_NAME_BYTES = 64,       /* maximum for a program */
    WIRE_TEXT_BYTES = 512,      /* maximum for a reason */
    WIRE_HASHED_BYTES = 65536,  /* maximum that HAVE covers */
    WIRE_ALL_LOGS = UINT16_MAX, /* in REFUSED: the whole connection */
};

enum wire_kind {
    WIRE_HELLO = 1, /* struct wire_hello */
    WIRE_BEGIN,     /* header page, then the program's name without NUL */
    WIRE_HAVE,      /* offset: end of the file; 8 bytes: wire_hash */
    WIRE_AGAIN,     /* like BEGIN; restart a log */
    WIRE_DATA,      /* offset; bytes of the log */
    WIRE_HEADER,    /* header page */
    WIRE_END,       /* offset: end of the log */
    WIRE_ACK,       /* offset */
    WIRE_DONE,      /* offset */
    WIRE_REFUSED,   /* text: why the log, or all logs, cannot be accepted now */
    WIRE_PING,      /* keep-alive; answered by the same */
    WIRE_CUT,       /* like END, for an unfinished log: more may follow later */
    WIRE_SYNC,      /* sync to the disk */
    WIRE_SYNCED,    /* offset */
    WIRE_KINDS,
};

struct wire_head {
    uint32_t kind; /* enum wire_kind */
    uint32_t log;
    uint64_t offset;
    uint32_t n_bytes; /* of payload */
    uint32_t reserved;
};

struct wire_hello {
    char magic[8];    /* WIRE_MAGIC */
    uint32_t version; /* WIRE_VERSION */
    uint32_t reserved;
};

/* Received bytes that are not a complete message yet. */
struct wire_reader {
    size_t begin, end; /* of the data in `bytes` */
    uint8_t bytes[2 * (WIRE_MAX_BYTES + sizeof(struct wire_head))];
};

void wire_reader_init(struct wire_reader *reader);

/* Where to put received data; there is always space for the rest of the longest message.
 * Invalidates the payload of wire_reader_next. */
void *wire_reader_room(struct wire_reader *reader, size_t *ret_n_bytes);
void wire_reader_add(struct wire_reader *reader, size_t n_bytes);

/* 1: a message, whose payload is valid until more is read; 0: incomplete; ERROR_FORMAT: see
 * WI-1. */
int wire_reader_next(struct wire_reader *reader, struct wire_head *ret_head,
                     const void **ret_payload, struct error *err);

/* Checks magic and version. */
int wire_check_hello(const struct wire_head *head, const void *payload, struct error *err);
void wire_make_hello(struct wire_hello *ret_hello);

/* Hashes the last WIRE_HASHED_BYTES of a log before `end`, without the header page. read: like
 * pread. */
int wire_hash(ssize_t (*read)(void *context, void *bytes, size_t n_bytes, uint64_t offset),
              void *context, uint64_t end, uint64_t *ret_hash, struct error *err);

#endif
