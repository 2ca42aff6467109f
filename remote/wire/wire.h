/* SPDX-License-Identifier: MIT */
/*
 * wire: what a sender of logs and mtrace-gather say to each other, once the channel is open.
 *
 * Model:   each message is a struct wire_head and n_bytes behind it, all little-endian. The sender begins:
 *
 *              HELLO ──►  ◄── HELLO
 *              BEGIN log, header page, program ──►  ◄── HAVE so many bytes, and the hash of the last of them
 *              ANEW, if those are not its bytes ──►  ◄── HAVE: a new file, with the header page alone
 *              DATA, DATA, HEADER, DATA … ──►  ◄── ACK: all below `offset` is written
 *              SYNC ──►  ◄── SYNCED: all below `offset` is on the disk
 *              END, or CUT if the log has no end ──►  ◄── DONE: all of it is on the disk
 *
 *          A receiver whose greeting asks for objects is offered what the logs name, one at a time:
 *
 *              OBJECT, of a number in the head's `log` ──►  ◄── WANT, of that number: enum wire_wish
 *              OBJECT_DATA … OBJECT_END, if it is wanted ──►  ◄── WANT: what became of it
 *
 *          What becomes of an object is said at once when it is thrown away, so that its rest need not come: OBJECT_END comes then, too.
 *
 *          Logs have numbers of the sender's choice, and any number of them take turns on one connection.
 * Invariants
 *   WI-1 A reader gives out only messages of a known kind that are not longer than that kind may be; the first one that is not
 *        ends the connection.
 *   WI-2 The end of the file that the receiver has is the only place where DATA may go.
 * Threads: any, one for each reader.
 */
#ifndef MTRACE_REMOTE_WIRE_H
#define MTRACE_REMOTE_WIRE_H

#include <stddef.h>
#include <stdint.h>

struct error;

#define WIRE_MAGIC "mtrace\r\n"

enum {
    WIRE_VERSION = 1,
    WIRE_MAX_BYTES = 65536,
    WIRE_NAME_BYTES = 64,       /* of a program, at most */
    WIRE_TEXT_BYTES = 512,      /* of a reason, at most */
    WIRE_HASHED_BYTES = 65536,  /* that HAVE speaks of, at most */
    WIRE_ALL_LOGS = UINT16_MAX, /* REFUSED: the connection, not one log */
};

enum wire_kind {
    WIRE_HELLO = 1, /* struct wire_hello */
    WIRE_BEGIN,     /* header page, then the program's name without NUL */
    WIRE_HAVE,      /* offset: end of the file; 8 bytes: wire_hash of its end */
    WIRE_AGAIN,     /* the same as BEGIN, of a log that was begun */
    WIRE_DATA,      /* offset; bytes of the log */
    WIRE_HEADER,    /* header page */
    WIRE_END,       /* offset: end of the log */
    WIRE_ACK,       /* offset */
    WIRE_DONE,      /* offset */
    WIRE_REFUSED,   /* text: why the log, or all of them, cannot be taken now */
    WIRE_PING,      /* the sender lives; answered by the same */
    WIRE_CUT, /* as END, of a log that its recorder did not finish: more of it may come another time */
    WIRE_SYNC,        /* bring it to the disk */
    WIRE_SYNCED,      /* offset */
    WIRE_OBJECT,      /* struct wire_object */
    WIRE_WANT,        /* offset: enum wire_wish */
    WIRE_OBJECT_DATA, /* offset in the file; bytes */
    WIRE_OBJECT_END,
    WIRE_KINDS,
};

struct wire_head {
    uint32_t kind; /* enum wire_kind */
    uint32_t log;
    uint64_t offset;
    uint32_t n_bytes; /* that follow */
    uint32_t reserved;
};

struct wire_hello {
    char magic[8];    /* WIRE_MAGIC */
    uint32_t version; /* WIRE_VERSION */
    uint32_t flags;   /* of a receiver: WIRE_WANTS_OBJECTS */
};

enum {
    WIRE_WANTS_OBJECTS = 1
};

enum wire_object_kind {
    WIRE_OBJECT_FILE = 0,  /* an executable or library */
    WIRE_OBJECT_DEBUG = 1, /* its debug file */
};

/* A file that a log names. */
struct wire_object {
    uint8_t id[32]; /* build id, n_id bytes of it */
    uint32_t n_id;
    uint32_t kind;       /* enum wire_object_kind */
    uint64_t size_bytes; /* 0: the sender has no such file any more */
};

/* Of an object; but for WIRE_WANTED the last word on it. */
enum wire_wish {
    WIRE_HAS_IT,
    WIRE_WANTED,
    WIRE_KEPT,
    WIRE_ABSENT, /* and the receiver has none either */
    WIRE_TOO_LARGE,
    WIRE_NO_ROOM,
    WIRE_NOT_WRITTEN,
    WIRE_NOT_IT, /* what came */
    WIRE_WISHES,
};

/* Bytes that arrived and are not a whole message yet. */
struct wire_reader {
    size_t begin, end; /* of what is in `bytes` */
    uint8_t bytes[2 * (WIRE_MAX_BYTES + sizeof(struct wire_head))];
};

void wire_reader_init(struct wire_reader *reader);

/* Where to put what arrives; there is always room for the rest of the longest message. What wire_reader_next gave out is
 * gone then. */
void *wire_reader_room(struct wire_reader *reader, size_t *ret_n_bytes);
void wire_reader_add(struct wire_reader *reader, size_t n_bytes);

/* 1: a message, whose payload is valid until more is read; 0: not all of it has arrived; ERROR_FORMAT: see WI-1. */
int wire_reader_next(struct wire_reader *reader, struct wire_head *ret_head,
                     const void **ret_payload, struct error *err);

/* Is it the one of this version? */
int wire_check_hello(const struct wire_head *head, const void *payload, struct error *err);
void wire_make_hello(struct wire_hello *ret_hello);

/* Why an object did not come, behind "1 of 7 "; NULL: it is there. */
const char *wire_wish_text(enum wire_wish wish);

/* Of the end of the file up to `end`: WIRE_HASHED_BYTES of it, without the header page. */
int wire_hash(int fd, uint64_t end, uint64_t *ret_hash, struct error *err);

#endif
