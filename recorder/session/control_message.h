/* SPDX-License-Identifier: MIT */
/*
 * control_message: the protocol between 'mtrace-record --ctl' and a running mtrace-record.
 *
 * Each mtrace-record that runs a program listens on a UNIX socket with the abstract name
 * LOG_CONTROL_NAME plus its PID, so no file can be left over or be a link. One message of at
 * most CONTROL_MESSAGE_BYTES goes each way (SOCK_SEQPACKET): the request "PID VERB" or "PID VERB
 * NAME", and an answer of one digit (enum control_answer) and a text. A recorded program requests
 * reports here, too: the verb "ask" with the RUN_ID of its log begins the exchange that
 * LOG_CONTROL_NAME describes.
 *
 * Invariants
 *   CM-1 Both sides check the peer with SO_PEERCRED: CS-2 says which clients are served; a client
 *        accepts an answer only from the PID in the name.
 *   CM-2 Text from the socket is printed without control characters.
 *
 * Notes: CM-1: this also guards against another process that has taken the name.
 */
#ifndef MTRACE_RECORDER_CONTROL_MESSAGE_H
#define MTRACE_RECORDER_CONTROL_MESSAGE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* Answers a request that another version may understand: the client may have meant that one. */
#define CONTROL_NOT_UNDERSTOOD "that is no request of this version of mtrace-record"

enum {
    CONTROL_MESSAGE_BYTES = 512, /* including the NUL */
};

enum control_answer {
    CONTROL_DONE = 0,
    CONTROL_FAILED = 1,
    CONTROL_NOT_MINE = 2, /* this mtrace-record does not record the process */
    CONTROL_LATER = 3,    /* accepted, but not done yet */
};

enum control_verb {
    CONTROL_START,
    CONTROL_STOP,
    CONTROL_SNAPSHOT,
    CONTROL_REPORT,
    CONTROL_HEAP_IMAGE,
    CONTROL_DETACH, /* ends the recording of an attached process */
    CONTROL_VERBS,
    CONTROL_ASK = CONTROL_VERBS, /* of a program; not a word of --ctl */
};

struct control_request {
    pid_t pid;
    enum control_verb verb;
    char name[LOG_MAILBOX_NAME_BYTES]; /* of a snapshot or image; "" = none given */
    uint64_t run_id;                   /* of CONTROL_ASK */
};

/* False: there is no such verb. */
bool control_message_find_verb(const char *word, enum control_verb *ret_verb);

const char *control_message_verb(enum control_verb verb);

bool control_message_takes_name(enum control_verb verb);

/* The address of the mtrace-record with this pid; returns its length. */
socklen_t control_message_address(pid_t recorder, struct sockaddr_un *ret_address);

/* text has n_bytes and a NUL. False: it is not a request. */
bool control_message_parse(const char *text, size_t n_bytes, struct control_request *ret_request);

/* The peer of a socket. False: unknown. */
bool control_message_peer(int fd, struct ucred *ret_peer);

#endif
