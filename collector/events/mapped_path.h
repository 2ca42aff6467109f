/* SPDX-License-Identifier: MIT */
/*
 * mapped_path: LOG_DEF_PATH ids of the files that the program maps.
 *
 * Threads: any. Async-signal-safe. On failure the id is 0: no path.
 */
#ifndef MTRACE_COLLECTOR_MAPPED_PATH_H
#define MTRACE_COLLECTOR_MAPPED_PATH_H

#include <stdint.h>

/* The id of the path behind an open descriptor of the program. Its definition is committed. */
uint32_t mapped_path_id(int fd);

/* In a fork child: forgets the known paths. */
void mapped_path_forget(void);

#endif
