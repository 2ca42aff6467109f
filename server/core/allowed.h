/* SPDX-License-Identifier: MIT */
/*
 * allowed: the query parameters that a client may use over HTTP.
 */
#ifndef MTRACE_SERVER_ALLOWED_H
#define MTRACE_SERVER_ALLOWED_H

#include <stdbool.h>

/* False for parameters that name files of this machine, concern terminals, or lift a limit. */
bool allowed_parameter(const char *name);

#endif
