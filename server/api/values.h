/* SPDX-License-Identifier: MIT */
/*
 * values: the values of a filter that occur in a recording, for completion.
 *
 * GET …/values?parameter=function_regex&part=pars returns rows of `value` and `label`, most
 * frequent first. part: a substring of the value or label, in any case; "" selects all. A value of
 * a regex parameter is a plain name: the client escapes it.
 *
 * Errors: ERROR_USAGE for a parameter whose values no table lists.
 */
#ifndef MTRACE_SERVER_VALUES_H
#define MTRACE_SERVER_VALUES_H

#include <stdbool.h>

struct error;
struct exchange;
struct queries_parameter;
struct request_place;
struct recording;

bool values_has(const struct queries_parameter *parameter);

int values_answer(const struct request_place *place, const struct recording *recording,
                  struct exchange *exchange, struct error *err);

#endif
