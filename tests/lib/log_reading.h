/* SPDX-License-Identifier: MIT */
/*
 * log_reading: shared by tests of the log reader: a scratch folder, files in it, and
 * whole logs read into memory.
 *
 * Failure: everything that must work fails the running cmocka test with the reader's message.
 */
#ifndef MTRACE_TESTS_LIB_LOG_READING_H
#define MTRACE_TESTS_LIB_LOG_READING_H

#include "importer/read/event_stream.h"

#include <stddef.h>
#include <stdint.h>

struct log_reading {
    struct event *events; /* but EVENT_LOST */
    size_t n_events;
    size_t n_losses; /* EVENT_LOST */
};

/* Makes and removes the scratch folder; group setup and teardown of cmocka. */
int log_reading_setup(void **state);
int log_reading_teardown(void **state);

/* A path in the scratch folder; valid for the next seven calls. */
const char *log_reading_path(const char *name);

struct log_set *log_reading_open(const char *path);

/* The message of the error that opening must end with. */
const char *log_reading_refusal(const char *path, int expected_code);

/* Reads all events, checks EV-1 and EV-2 on the way. The caller frees reading.events. */
struct log_reading log_reading_events(struct log_set *set);

/* Opens, reads, closes; the log must be without damage. */
struct log_reading log_reading_log(const char *path);

uint64_t log_reading_damages(const struct log_set *set);

/* Whole files. The caller frees *ret. */
size_t log_reading_load(const char *path, uint8_t **ret);
void log_reading_store(const char *path, const void *bytes, size_t n);

#endif
