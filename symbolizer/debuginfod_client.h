/* SPDX-License-Identifier: MIT */
/*
 * debuginfod_client: debug files from the servers that DEBUGINFOD_URLS names.
 *
 * Model: libdebuginfod is opened only when somebody asks and the variable is set, so that no
 *        program of ours needs it or speaks to a network by itself. It keeps what it fetched in its
 *        own cache.
 * Threads: any; each call has a client of its own.
 */
#ifndef MTRACE_SYMBOLIZER_DEBUGINFOD_CLIENT_H
#define MTRACE_SYMBOLIZER_DEBUGINFOD_CLIENT_H

#include <stdbool.h>

/* Path of the fetched debug file, or of the object itself, to be freed; NULL: no servers, no library, or they do not have it. */
char *debuginfod_client_find(const char *build_id, bool is_object);

#endif
