/* SPDX-License-Identifier: MIT */
/*
 * address: parses HOST:PORT and makes sockets from it.
 *
 * HOST is a name, an IPv4 address, or an IPv6 address in brackets.
 *
 * Threads: any.
 */
#ifndef MTRACE_REMOTE_ADDRESS_H
#define MTRACE_REMOTE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct error;

enum {
    ADDRESS_HOST_BYTES = 256,
    ADDRESS_TEXT_BYTES = 320,
};

struct address {
    char host[ADDRESS_HOST_BYTES]; /* without brackets */
    char port[6];
};

/* ERROR_USAGE: not an address. */
int address_parse(const char *text, struct address *ret_address, struct error *err);

/* Returns a non-blocking socket, connected within timeout_ms; is_local: only to an address of this
 * machine. */
int address_connect(const struct address *address, bool is_local, int timeout_ms, int *ret_fd,
                    struct error *err);

/* ERROR_USAGE: HOST is known, and none of its addresses belongs to this machine. */
int address_check_local(const struct address *address, struct error *err);

/* Returns a listening socket. */
int address_listen(const struct address *address, bool is_local, int *ret_fd, struct error *err);

/* The address belongs to this machine. */
bool address_is_local(const struct sockaddr *socket_address);

/* "1.2.3.4:5", "[::1]:5" */
void address_print(const struct sockaddr *socket_address, socklen_t n_bytes, char *ret_text);

#endif
