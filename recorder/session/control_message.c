/* SPDX-License-Identifier: MIT */
#include "recorder/session/control_message.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const g_verbs[CONTROL_VERBS] = {"start",  "stop",       "snapshot",
                                                   "report", "heap-image", "detach"};

bool control_message_find_verb(const char *word, enum control_verb *ret_verb)
{
    for (int i = 0; i < CONTROL_VERBS; i++)
        if (strcmp(word, g_verbs[i]) == 0) {
            *ret_verb = (enum control_verb)i;
            return true;
        }
    return false;
}

const char *control_message_verb(enum control_verb verb)
{
    return g_verbs[verb];
}

bool control_message_takes_name(enum control_verb verb)
{
    return verb == CONTROL_SNAPSHOT || verb == CONTROL_HEAP_IMAGE;
}

/* An abstract address: its first byte is 0, and the name has no NUL at its end. */
socklen_t control_message_address(pid_t recorder, struct sockaddr_un *ret_address)
{
    int n;

    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->sun_family = AF_UNIX;
    n = snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1,
                 LOG_CONTROL_NAME "%d", (int)recorder);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool parse_pid(const char *text, char **ret_end, pid_t *ret_pid)
{
    long value;

    if (*text < '1' || *text > '9')
        return false;
    errno = 0;
    value = strtol(text, ret_end, 10);
    *ret_pid = (pid_t)value;
    return errno == 0 && value <= INT_MAX;
}

static bool parse_run_id(const char *text, struct control_request *request)
{
    char *end;

    errno = 0;
    request->verb = CONTROL_ASK;
    request->run_id = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && errno == 0 && !*end;
}

bool control_message_parse(const char *text, size_t n_bytes, struct control_request *ret_request)
{
    char word[16] = "";
    char *at;
    size_t n;

    if (strlen(text) != n_bytes || !parse_pid(text, &at, &ret_request->pid) || *at++ != ' ')
        return false;
    memset(ret_request->name, 0, sizeof(ret_request->name));
    if (strncmp(at, "ask ", 4) == 0)
        return parse_run_id(at + 4, ret_request);
    n = strcspn(at, " ");
    if (n >= sizeof(word))
        return false;
    memcpy(word, at, n);
    at += n + (at[n] == ' ');
    if (!control_message_find_verb(word, &ret_request->verb)
        || strlen(at) >= sizeof(ret_request->name)
        || (*at && !control_message_takes_name(ret_request->verb)))
        return false;
    memcpy(ret_request->name, at, strlen(at));
    return true;
}

bool control_message_peer(int fd, struct ucred *ret_peer)
{
    socklen_t n = sizeof(*ret_peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &n) == 0 && n == sizeof(*ret_peer);
}
