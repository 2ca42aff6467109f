/* SPDX-License-Identifier: MIT */
/*
 * debuginfod_client: fetches debug files from the servers in DEBUGINFOD_URLS.
 *
 * libdebuginfod is loaded only on a lookup and if the variable is set: mtrace does not depend on it
 * and does not use the network on its own. The library caches what it fetched. Any thread; each
 * call has its own client.
 */
#ifndef MTRACE_SYMBOLIZER_DEBUGINFOD_CLIENT_H
#define MTRACE_SYMBOLIZER_DEBUGINFOD_CLIENT_H

#include <stdbool.h>

/* Returns the path of the fetched debug file, or of the object itself, to be freed. NULL: no
 * servers, no library, or not found. */
char *debuginfod_client_find(const char *build_id, bool is_object);

#endif
