/* SPDX-License-Identifier: MIT */
/*
 * values: what a filter may be given, as the recording has it: for completion.
 *
 * Model:   GET …/values?parameter=function_regex&part=pars is rows of `value` and `label`, those first that
 *          stand for most. part: what the value or label has in it, in any case; all have "". A
 *          value of a regex parameter is a name as it is, to be escaped by whoever makes a regex of it.
 * Failure: ERROR_USAGE for a parameter whose values no table lists.
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
