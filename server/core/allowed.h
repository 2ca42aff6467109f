/* SPDX-License-Identifier: MIT */
/* allowed: which parameters of a question a client may give over HTTP. */
#ifndef MTRACE_SERVER_ALLOWED_H
#define MTRACE_SERVER_ALLOWED_H

#include <stdbool.h>

/* Not those that name files of this machine, say how a terminal looks, or lift a limit. */
bool allowed_parameter(const char *name);

#endif
