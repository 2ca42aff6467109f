/* SPDX-License-Identifier: MIT */
/*
 * source_text: a source file of the program and what its lines allocate.
 *
 * Model:   GET …/source?path=PATH is one object: "path", "state", "note" (a sentence where the state is not
 *          "unchanged"), "modified_unix_ns", "text" (null where it cannot be shown), and "lines": the rows
 *          of `lines PATH` with the filters of the request.
 *            unchanged   neither modified after the program was built nor after the recording began
 *            changed     one of these: lines may be others than those that ran
 *            absent      no such file on this machine
 *            unreadable  no regular file, no permission, no text, or more than SOURCE_TEXT_MAX_BYTES
 * Invariants
 *   ST-1 only files that the recording names as sources are opened, and only regular ones are read.
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
