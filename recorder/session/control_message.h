/* SPDX-License-Identifier: MIT */
/*
 * control_message: what 'mtrace-record --ctl' and a running mtrace-record say to each other.
 *
 * Model:   each mtrace-record that runs a program listens on a UNIX socket of the abstract name CONTROL_NAME_PREFIX and its pid:
 *          no file that could be left over, be a link, or be in the way. One message of at most CONTROL_MESSAGE_BYTES goes each way
 *          (SOCK_SEQPACKET): a request "PID VERB" or "PID VERB NAME", an answer of one digit (enum control_answer) and a text.
 * Invariants
 *   CM-1 Both sides ask the kernel who is on the other (SO_PEERCRED): only the same user, and root, is answered; and an answer is taken only
 *        from the pid that the name says, of the same user: whoever takes a name that is not his is not spoken to.
 *   CM-2 A text that came over the socket is printed without its control characters.
 */
#ifndef MTRACE_RECORDER_CONTROL_MESSAGE_H
#define MTRACE_RECORDER_CONTROL_MESSAGE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define CONTROL_NAME_PREFIX "mtrace-record."

/* Answers a request that an mtrace-record of another version would understand: it may not be the one that is meant. */
#define CONTROL_NOT_UNDERSTOOD "that is no request of this version of mtrace-record"

enum {
    CONTROL_MESSAGE_BYTES = 512, /* with a NUL */
};

enum control_answer {
    CONTROL_DONE = 0,
    CONTROL_FAILED = 1,
    CONTROL_NOT_MINE = 2, /* this mtrace-record does not record the process */
    CONTROL_LATER = 3,    /* it will be done, but what is asked for is not there yet */
};

enum control_verb {
    CONTROL_START,
    CONTROL_STOP,
    CONTROL_SNAPSHOT,
    CONTROL_REPORT,
    CONTROL_DETACH, /* of a process that was attached to */
    CONTROL_VERBS
};

struct control_request {
    pid_t pid;
    enum control_verb verb;
    char name[LOG_CONTROL_NAME_BYTES]; /* of a snapshot; "" = none given */
};

/* False: there is no such verb. */
bool control_message_find_verb(const char *word, enum control_verb *ret_verb);

const char *control_message_verb(enum control_verb verb);

/* The address of the mtrace-record with this pid; returns its length. */
socklen_t control_message_address(pid_t recorder, struct sockaddr_un *ret_address);

/* text: of n_bytes, with a NUL behind. False: it is no request. */
bool control_message_parse(const char *text, size_t n_bytes, struct control_request *ret_request);

/* Who is on the other side. False: nobody knows. */
bool control_message_peer(int fd, struct ucred *ret_peer);

#endif
