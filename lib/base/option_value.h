/* SPDX-License-Identifier: MIT */
/*
 * option_value: parses values of command-line options. On failure argp prints why and exits with
 * status 2.
 */
#ifndef MTRACE_LIB_OPTION_VALUE_H
#define MTRACE_LIB_OPTION_VALUE_H

#include <argp.h>
#include <stdint.h>

/* In bytes. `option` with its hyphens. */
uint64_t option_value_size(const struct argp_state *state, const char *option, const char *text);

/* Decimal, 0 to `most`. */
uint64_t option_value_number(const struct argp_state *state, const char *option, const char *text,
                             uint64_t most);

/* In nanoseconds, never 0. */
uint64_t option_value_duration(const struct argp_state *state, const char *option,
                               const char *text);

#endif
