/* SPDX-License-Identifier: MIT */
/*
 * log_name: makes the name of a log from a pattern.
 *
 * %e base name of the program, %t Unix seconds, %p PID, %n the first number from 1 on that gives a
 * free name, %% a percent sign. Other characters stay unchanged.
 */
#ifndef MTRACE_LIB_LOG_NAME_H
#define MTRACE_LIB_LOG_NAME_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOG_NAME_DEFAULT "mtrace_%e_%t_%p.dat"

struct log_name_values {
    const char *program; /* a path or name; %e is its last part */
    int64_t unix_seconds;
    pid_t pid;
};

/* The caller owns *ret_name. With %n, neither the file nor its live log exists. */
int log_name_expand(const char *pattern, const struct log_name_values *values, char **ret_name,
                    struct error *err);

/* The name with the working directory in front if it is relative; NULL without memory. */
char *log_name_absolute(const char *name);

/* The name of its live log; NULL without memory. */
char *log_name_live(const char *name);

/* Is this file, as named in /proc/PID/maps, a live log? Folders and the user's own names may
 * contain the suffix, too. */
bool log_name_is_live(const char *path);

/* Does its live log exist? True without memory. */
bool log_name_has_live(const char *name);

#endif
