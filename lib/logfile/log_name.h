/* SPDX-License-Identifier: MIT */
/*
 * log_name: the name of a log from its pattern.
 *
 * Model: %e base name of the program, %t unix seconds, %p pid, %n the first number from 1 on that
 *        gives a free name, %% a percent sign. Anything else stays as it is.
 */
#ifndef MTRACE_LIB_LOG_NAME_H
#define MTRACE_LIB_LOG_NAME_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOG_NAME_DEFAULT "mtrace_%e_%t_%p.dat"

struct log_name_values {
    const char *program; /* a path or name; its last part is %e */
    int64_t unix_seconds;
    pid_t pid;
};

/* Into *ret_name, owned by the caller, as long as neither it nor its live log exists when the
 * pattern has %n. */
int log_name_expand(const char *pattern, const struct log_name_values *values, char **ret_name,
                    struct error *err);

/* The same name with the working directory in front, unless it is absolute; NULL without memory. */
char *log_name_absolute(const char *name);

/* The name of the live log beside it; NULL without memory. */
char *log_name_live(const char *name);

/* Is this file, as /proc/PID/maps names it, a live log? Folders, and what the user called it, may have that in their names, too. */
bool log_name_is_live(const char *path);

/* Is it there? Without memory: it may be. */
bool log_name_has_live(const char *name);

#endif
