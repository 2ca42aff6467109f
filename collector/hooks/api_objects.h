/* SPDX-License-Identifier: MIT */
/*
 * api_objects: the part of the table that include/mtrace_objects.h calls.
 *
 * Threads, signals and failure are those of that header.
 */
#ifndef MTRACE_COLLECTOR_API_OBJECTS_H
#define MTRACE_COLLECTOR_API_OBJECTS_H

#include "include/mtrace_objects.h"

extern const struct mtrace_objects_api api_objects;

#endif
