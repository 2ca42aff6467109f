/* SPDX-License-Identifier: MIT */
#include "server/http/head.h"

#include <microhttpd.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_LINE_BYTES = 256 * 1024
};

static const char has_nul[] = "the request has a NUL in it";

static void complain(struct head *head, const char *complaint)
{
    if (!head->complaint)
        head->complaint = complaint;
}

void head_read_address(struct head *head, const char *address)
{
    if (*address != '/' || strstr(address, "%00"))
        complain(head, "the address must begin with / and have no %00");
}

static void read_length(struct head *head, const char *value)
{
    if (head->length && strcmp(head->length, value) != 0) {
        head->is_bad_length = true;
        complain(head, "the request has two Content-Lengths");
    }
    head->length = value;
}

static enum MHD_Result read_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct head *head = context;

    (void)kind;
    head->n_hosts += strcasecmp(name, "Host") == 0;
    head->has_coding |= strcasecmp(name, "Transfer-Encoding") == 0;
    if (value && strcasecmp(name, "Content-Length") == 0)
        read_length(head, value);
    return MHD_YES;
}

static bool is_cut(const char *address_end, const char *version)
{
    uintptr_t gap = (uintptr_t)version - (uintptr_t)address_end;

    if (!version || (uintptr_t)version < (uintptr_t)address_end || gap > MAX_LINE_BYTES)
        return false; /* not in one line */
    for (const char *at = address_end; at < version; at++)
        if (*at != '\0' && *at != ' ' && *at != '\t')
            return true;
    return false;
}

void head_read_rest(struct head *head, struct MHD_Connection *connection, const char *address_end,
                    const char *version)
{
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, read_header, head);
    if (head->n_hosts > 1)
        complain(head, "the request names more than one host");
    if (is_cut(address_end, version))
        complain(head, has_nul);
    if (head->length && head->has_coding) {
        head->is_bad_length = true;
        complain(head, "the request has a Content-Length and a Transfer-Encoding");
    }
}

void head_read_body(struct head *head, const char *body, size_t size)
{
    if (size > 0 && memchr(body, '\0', size))
        complain(head, has_nul);
}
