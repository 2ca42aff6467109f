/* SPDX-License-Identifier: MIT */
/*
 * source_text: a source file of the program and what its lines allocate.
 *
 * GET …/source?path=PATH returns one object: "path", "state", "note" (a sentence unless the state
 * is "unchanged"), "modified_unix_ns", "text" (null if it cannot be shown), and "lines": the rows
 * of `lines PATH` with the filters of the request. States:
 *
 *   unchanged   not modified after the program was built or the recording began
 *   changed     modified since then: lines may differ from those that ran
 *   absent      no such file on this machine
 *   unreadable  not a regular file, no permission, not text, or more than SOURCE_TEXT_MAX_BYTES
 *
 * Invariants
 *   ST-1 Only files that the recording names as sources are opened, and only regular ones are read.
 *
 * Failure: ERROR_NOT_FOUND for a path that the recording does not name.
 */
#ifndef MTRACE_SERVER_SOURCE_TEXT_H
#define MTRACE_SERVER_SOURCE_TEXT_H

struct error;
struct exchange;
struct request_place;
struct recording;

enum {
    SOURCE_TEXT_MAX_BYTES = 4 * 1024 * 1024
};

int source_text_answer(const struct request_place *place, const struct recording *recording,
                       struct exchange *exchange, struct error *err);

#endif
